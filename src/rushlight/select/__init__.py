"""Selective builds: a CMake project with only the kernels, dtypes and microkernels that programs use."""
