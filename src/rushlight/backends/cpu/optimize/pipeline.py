"""The order of all passes over a plan."""

from __future__ import annotations

from rushlight.backends.cpu.optimize.assign_registers import assign_registers
from rushlight.backends.cpu.optimize.context import Context, Pass
from rushlight.backends.cpu.optimize.fuse_bottlenecks import fuse_bottlenecks
from rushlight.backends.cpu.optimize.fuse_prologues import fuse_prologues
from rushlight.backends.cpu.optimize.merge_convolutions import merge_convolutions
from rushlight.backends.cpu.optimize.merge_copies import merge_copies
from rushlight.backends.cpu.optimize.place_concatenations import place_concatenations
from rushlight.backends.cpu.optimize.select_algorithms import select_algorithms
from rushlight.backends.cpu.optimize.spread_pixels import spread_pixels
from rushlight.backends.cpu.optimize.trim_kernels import trim_kernels
from rushlight.backends.cpu.plan.node import PlanNode

PASSES: tuple[Pass, ...] = (
    # These passes change convolutions whose algorithm is not selected yet:
    place_concatenations,
    merge_convolutions,
    trim_kernels,
    merge_copies,
    select_algorithms,
    # These passes change operations of the schema, and chains without registers:
    fuse_bottlenecks,
    fuse_prologues,
    spread_pixels,
    assign_registers,
)


def optimize(steps: list[PlanNode], context: Context) -> list[PlanNode]:
    """Runs all passes over the steps from lowering, and returns the steps of the finished plan."""
    for run in PASSES:
        steps = run(steps, context)
    return steps
