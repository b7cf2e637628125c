"""What a target can run: the tables of kernels that the compiler checks programs against."""
