"""The options that choose the backend of a compiled model."""

from __future__ import annotations

import argparse
from typing import Any

from rushlight.runtime.errors import InvalidArgumentError

_TARGETS = ("generic", "avx2", "avx512", "neon", "rvv", "rvv256")


def add_backend_options(parser: argparse.ArgumentParser) -> None:
    """Adds the option for the backend, and the options of the CPU backend."""
    parser.add_argument(
        "--backend",
        choices=("cpu", "xnnpack", "openvino", "none"),
        default="cpu",
        help="the backend that runs the model: the CPU backend, XNNPACK, OpenVINO (needs "
        "rushlight[openvino]), or none, which uses kernels only (default: %(default)s)",
    )
    parser.add_argument(
        "--target",
        choices=_TARGETS,
        help="the instruction set to compile for (default: the instruction set of this machine)",
    )
    parser.add_argument(
        "--float32-matmul-precision",
        choices=("highest", "high"),
        help="highest: full float32; high: faster large matrix products and convolutions, with errors of up "
        "to 1e-3 of the largest result (default: highest)",
    )
    parser.add_argument(
        "--compact",
        action="store_true",
        help="store weights in no more bytes than the model has; loading takes longer",
    )
    parser.add_argument(
        "--weights",
        choices=("float16", "bfloat16"),
        help="store float32 weights in 16 bits, which halves their size",
    )


def add_explain_option(parser: argparse.ArgumentParser) -> None:
    """Adds the option that prints which operators no backend runs."""
    parser.add_argument(
        "--explain", action="store_true", help="print the operators that no backend runs, and the reasons"
    )


def partitioners(options: argparse.Namespace) -> list[Any]:
    """Returns the partitioners for `rushlight.compile`.

    Args:
        options: the parsed options.

    Raises:
        InvalidArgumentError: an option belongs to another backend.
    """
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
            raise InvalidArgumentError(
                f"--{name}: this is an option of --backend cpu, not of --backend {options.backend}"
            )
    if options.backend == "none":
        return []
    if options.backend == "openvino":
        from rushlight.backends.openvino.partitioner import OpenvinoPartitioner

        return [OpenvinoPartitioner()]
    from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner

    return [XnnpackPartitioner()]


def explanation(options: argparse.Namespace, chosen: list[Any]) -> list[str]:
    """Returns tables of the nodes that the backends do not support, with the reasons.

    The list is empty if --explain is not given.

    Args:
        options: the parsed options.
        chosen: the partitioners, after `rushlight.compile` has used them.
    """
    if not options.explain:
        return []
    tables = [partitioner.report.get_table_report() for partitioner in chosen if partitioner.report.reasons]
    return [table + "\n" for table in tables] or [
        "no operator runs on a kernel\n" if chosen else "all operators run on kernels\n"
    ]
