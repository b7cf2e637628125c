"""Estimates the execution time of products on one core, by which the compiler selects algorithms."""

from __future__ import annotations

from rushlight.backends.cpu.target import Target

_TILE_OVERHEAD = 8
"""The time to start and store a tile in a product of a group, as a number of terms of a sum."""


def grouped_product_cycles(groups: int, rows: int, depth: int, columns: int, target: Target) -> float:
    """Estimates the cycles of `groups` products [rows, depth] x [depth, columns] with a constant RHS.

    Args:
        groups: the number of products.
        rows: rows of each product.
        depth: terms of each sum.
        columns: columns of each product.
        target: the instruction set.

    Returns:
        The cycles of one core.
    """
    if groups == 1:
        return product_cycles(rows, depth, columns, target)
    return groups * rows * (depth + _TILE_OVERHEAD) * -(-columns // target.vector) / 2


def product_cycles(rows: int, depth: int, columns: int, target: Target) -> float:
    """Estimates the cycles of a product [rows, depth] x [depth, columns] with a constant RHS."""
    vectors = -(-columns // target.vector)
    tiles = -(-rows // target.rows) * target.rows
    compute = tiles * depth * vectors / 2
    weights = depth * vectors * target.vector * 4
    return max(compute, weights / target.weight_bytes)
