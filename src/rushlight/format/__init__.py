"""Reads and writes `.pte` and `.ptd` files. Needs neither torch nor the compiler."""
