"""The table of operators: which of their nodes are taken, and what these become."""

from __future__ import annotations

from torch._ops import OpOverload

from rushlight.backends.cpu.lower import (
    attention,
    comparisons,
    elementwise,
    gathers,
    images,
    normalizations,
    products,
    recurrent,
    reductions,
    resize,
    state,
    views,
    volumes,
)
from rushlight.backends.cpu.lower.row import Category, Row

ROWS: dict[object, Row] = {
    **attention.ROWS,
    **comparisons.ROWS,
    **elementwise.ROWS,
    **gathers.ROWS,
    **images.ROWS,
    **normalizations.ROWS,
    **products.ROWS,
    **recurrent.ROWS,
    **reductions.ROWS,
    **resize.ROWS,
    **state.ROWS,
    **views.ROWS,
    **volumes.ROWS,
}
"""By ATen overload, or operator.getitem. Each family has its rows next to the functions that they name."""


def is_in(op: OpOverload, *categories: Category) -> bool:
    """Whether an operator has a row of one of these categories."""
    return op in ROWS and ROWS[op].category in categories
