"""The capabilities of a target: the kernel tables against which the compiler checks programs."""
