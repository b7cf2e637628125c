"""About how long steps take on one core, by which algorithms are chosen."""

from __future__ import annotations

from rushlight.backends.cpu.target import Target


def product_cycles(rows: int, depth: int, columns: int, target: Target) -> float:
    """About how many cycles a product [rows, depth] x [depth, columns] with a constant matrix takes."""
    vectors = -(-columns // target.vector)
    tiles = -(-rows // target.rows) * target.rows
    compute = tiles * depth * vectors / 2
    weights = depth * vectors * target.vector * 4
    return max(compute, weights / target.weight_bytes)
