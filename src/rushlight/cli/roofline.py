"""Compares the speed of each step of a program with the peak speed of the machine."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from rushlight.backends.cpu.plan.payload import read_plan
from rushlight.backends.cpu.plan.work import Work, work_of
from rushlight.format.program import DelegateCall, ExecutionPlan
from rushlight.format.pte import PTEFile, read_pte
from rushlight.runtime import _native

Timing = tuple[str, int, int, bool, float]


def roofline(program: bytes, method: Any, name: str, inputs: list[Any], runs: int, threads: int) -> list[str]:
    """Measures every instruction, and every step of CpuBackend, in the order in which they run.

    Args:
        program: the bytes of the .pte file.
        method: the timed method, loaded from `program`.
        name: the name of the method.
        inputs: the inputs of the method.
        runs: the number of runs, whose median times are shown.
        threads: the number of threads, with which the peak speeds are measured too.

    Returns:
        The lines of a table.
    """
    file = read_pte(program)
    plan = next(plan for plan in file.program.execution_plan if plan.name == name)
    works = _works(file, plan)
    arithmetic, bandwidth, hand_off = _native.machine_peaks(threads)
    times: list[list[float]] = []
    timings: list[Timing] = []
    for _ in range(runs):
        method.execute(inputs)
        timings = method.timings()
        times.append([seconds for *_, seconds in timings])
    medians = [statistics.median(column) for column in zip(*times, strict=True)]
    return [
        f"{arithmetic / 1e9:.0f} GFLOP/s and {bandwidth / 1e9:.1f} GB/s, threads: {threads}"
        + (f", {hand_off * 1e6:.1f} us to hand them tasks and back" if threads > 1 else "")
        + ", measured",
        *_table(timings, medians, works, arithmetic, bandwidth),
    ]


def _works(file: PTEFile, plan: ExecutionPlan) -> dict[tuple[int, int], list[Work]]:
    """Returns the work of the steps inside each CpuBackend delegate, by chain and instruction."""
    found = {}
    for c, chain in enumerate(plan.chains):
        for i, instruction in enumerate(chain.instructions):
            call = instruction.instr_args
            if isinstance(call, DelegateCall) and plan.delegates[call.delegate_index].id == "CpuBackend":
                payload = file.delegate_data[plan.delegates[call.delegate_index].processed.index]
                found[c, i] = work_of(read_plan(bytes(payload)))
    return found


def _table(
    timings: list[Timing],
    seconds: list[float],
    works: Mapping[tuple[int, int], list[Work]],
    arithmetic: float,
    bandwidth: float,
) -> list[str]:
    total = sum(s for (*_, is_step, _), s in zip(timings, seconds, strict=True) if not is_step) or 1.0
    lines = [
        f"{'step':26} {'output':>18} {'us':>9} {'share':>6} "
        f"{'GFLOP/s':>8} {'peak':>5} {'GB/s':>6} {'peak':>5}"
    ]
    at = 0
    operations = 0
    for (name, chain, instruction, is_step, _), time in zip(timings, seconds, strict=True):
        label = f"  {name}" if is_step else name
        line = f"{label[:26]:26} "
        work = None
        if not is_step:
            at = 0
        elif (chain, instruction) in works:
            work = works[chain, instruction][at]
            at += 1
        shape = "" if work is None else "x".join(map(str, work.shape))
        line += f"{shape:>18} {time * 1e6:9.1f} {time / total:6.1%}"
        if work is not None and time > 0:
            operations += work.operations
            rate, moved = work.operations / time, work.bytes / time
            line += f" {rate / 1e9:8.1f} {rate / arithmetic:5.0%} {moved / 1e9:6.1f} {moved / bandwidth:5.0%}"
        lines.append(line)
    lines.append(
        f"{'all':26} {'':18} {total * 1e6:9.1f} {'':6} {operations / total / 1e9:8.1f} "
        f"{operations / total / arithmetic:5.0%}"
    )
    return lines
