"""Estimates the execution time of products on one core, by which the compiler selects algorithms."""

from __future__ import annotations

from rushlight.backends.cpu.target import Target

_TILE_OVERHEAD = 8
"""The time to start and store a tile of a product, as a number of terms of a sum."""
_MULTIPLICATIONS_PER_CYCLE = 2
"""The vectors that a core multiplies and adds in a cycle."""


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
    return groups * _compute_cycles(rows, depth, columns, target)


def product_cycles(rows: int, depth: int, columns: int, target: Target) -> float:
    """Estimates the cycles of a product [rows, depth] x [depth, columns] with a constant RHS.

    A product with few rows takes as long as the weights need from memory to the core. Other products take as
    long as the multiplications of whole tiles.

    Returns:
        The cycles of one core.
    """
    tile_rows = -(-rows // target.rows) * target.rows  # the rows of whole tiles
    weight_bytes = depth * _vectors(columns, target) * target.vector * 4
    return max(_compute_cycles(tile_rows, depth, columns, target), weight_bytes / target.weight_bytes)


def _compute_cycles(rows: int, depth: int, columns: int, target: Target) -> float:
    return rows * (depth + _TILE_OVERHEAD) * _vectors(columns, target) / _MULTIPLICATIONS_PER_CYCLE


def _vectors(columns: int, target: Target) -> int:
    """Returns the number of vectors of a row of the result."""
    return -(-columns // target.vector)
