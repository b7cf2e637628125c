"""Bytes to dataclasses and back: the `.pte` and `.ptd` files. Needs neither torch nor the compiler."""
