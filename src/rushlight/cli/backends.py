"""The options that choose what runs a compiled model."""

from __future__ import annotations

import argparse
from typing import Any

from rushlight.runtime.errors import InvalidArgumentError

_TARGETS = ("generic", "avx2", "avx512", "neon", "rvv", "rvv256")


def add_backend_options(parser: argparse.ArgumentParser) -> None:
    """The backend, and the default one's settings."""
    parser.add_argument(
        "--backend",
        choices=("cpu", "xnnpack", "none"),
        default="cpu",
        help="what runs it: plans for a CPU, XNNPACK, or kernels alone (default: %(default)s)",
    )
    parser.add_argument(
        "--target", choices=_TARGETS, help="the instruction set to plan for (default: this machine's)"
    )
    parser.add_argument(
        "--float32-matmul-precision",
        choices=("highest", "high"),
        help="high: faster products and convolutions, with errors of up to 1e-3 of the largest result"
        " (default: highest, full float32)",
    )
    parser.add_argument(
        "--compact", action="store_true", help="no weights larger than the model's; a longer load"
    )
    parser.add_argument(
        "--weights", choices=("float16", "bfloat16"), help="store float32 weights in 16 bits, half the file"
    )
    parser.add_argument("--explain", action="store_true", help="print what is left to kernels, and why")


def partitioners(options: argparse.Namespace) -> list[Any]:
    """What `rushlight.compile` takes. Raises InvalidArgumentError for settings of another backend."""
    if options.backend == "cpu":
        from rushlight.backends.cpu.partitioner import CpuPartitioner

        weights = None
        if options.weights is not None:
            import torch

            weights = getattr(torch, options.weights)
        return [
            CpuPartitioner(
                options.target,
                float32_matmul_precision=options.float32_matmul_precision or "highest",
                compact=options.compact,
                weights=weights,
            )
        ]
    for name in ("target", "float32-matmul-precision", "compact", "weights"):
        if getattr(options, name.replace("-", "_")):
            raise InvalidArgumentError(f"--{name}: only the cpu backend has it, not {options.backend}")
    if options.backend == "none":
        return []
    from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner

    return [XnnpackPartitioner()]


def explanation(options: argparse.Namespace, chosen: list[Any]) -> list[str]:
    """With --explain, tables of the nodes that partitioners left and why; after compiling."""
    if not options.explain:
        return []
    tables = [partitioner.report.get_table_report() for partitioner in chosen if partitioner.report.reasons]
    return [table + "\n" for table in tables] or [
        "nothing is left to kernels\n" if chosen else "all is left to kernels\n"
    ]
