"""What is derived from the runtime's kernels: the table of them that the compiler checks programs against."""
