"""Estimates the execution time of steps on one core; algorithms are chosen by these estimates."""

from __future__ import annotations

from rushlight.backends.cpu.target import Target

_TERMS = 8
"""Terms of a sum that take as long as starting and storing a tile of a product of a group."""


def grouped_product_cycles(groups: int, rows: int, depth: int, columns: int, target: Target) -> float:
    """Estimates the cycles of `groups` products [rows, depth] x [depth, columns] with constant matrices.

    Args:
        groups: the number of products; one is estimated by `product_cycles`.
        rows: rows of each product.
        depth: terms of each sum.
        columns: columns of each product.
        target: the processor.

    Returns:
        cycles of one core.
    """
    if groups == 1:
        return product_cycles(rows, depth, columns, target)
    return groups * rows * (depth + _TERMS) * -(-columns // target.vector) / 2


def product_cycles(rows: int, depth: int, columns: int, target: Target) -> float:
    """Estimates the cycles of a product [rows, depth] x [depth, columns] with a constant matrix."""
    vectors = -(-columns // target.vector)
    tiles = -(-rows // target.rows) * target.rows
    compute = tiles * depth * vectors / 2
    weights = depth * vectors * target.vector * 4
    return max(compute, weights / target.weight_bytes)
