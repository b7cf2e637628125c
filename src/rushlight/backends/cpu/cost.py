"""Estimates the execution time of steps on one core; algorithms are chosen by these estimates."""

from __future__ import annotations

from rushlight.backends.cpu.target import Target


def product_cycles(rows: int, depth: int, columns: int, target: Target) -> float:
    """Estimates the cycles of a product [rows, depth] x [depth, columns] with a constant matrix."""
    vectors = -(-columns // target.vector)
    tiles = -(-rows // target.rows) * target.rows
    compute = tiles * depth * vectors / 2
    weights = depth * vectors * target.vector * 4
    return max(compute, weights / target.weight_bytes)
