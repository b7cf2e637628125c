"""The table of operators: the check and the lowering of each operator."""

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
    windows,
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
    **windows.ROWS,
}
"""The rows by ATen overload or operator.getitem. Each module defines the rows of its operators."""


def is_in(op: OpOverload, *categories: Category) -> bool:
    """Returns whether an operator has a row of one of these categories."""
    return op in ROWS and ROWS[op].category in categories
