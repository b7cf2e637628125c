"""The kernels of a target: the tables with which the compiler checks that a program can run."""
