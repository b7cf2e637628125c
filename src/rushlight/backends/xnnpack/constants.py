"""Special numbers in the tables of a payload."""

from __future__ import annotations

NONE = 0xFFFFFFFF
"""The id of an absent value, and the external id of an internal value."""
NAMED = 0xFFFFFFFFFFFFFFFF
"""The offset of constants that are stored as named data."""

INPUT = 1
"""Flag of values: an input of the delegate."""
OUTPUT = 2
"""Flag of values: an output of the delegate."""

TRANSPOSE_WEIGHTS = 1
"""Flag of products: the second operand is stored transposed."""
ALIGN_CORNERS = 8
"""Flag of resize nodes: the centers of the corner pixels of input and output coincide."""
KEEP_DIMS = 0x40
"""Flag of reductions and pooling: reduced dimensions are kept with size 1."""

GROUP_UNIT = 32
"""The sizes of groups of int4 weights must be multiples of this number."""
