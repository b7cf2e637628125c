"""Compares the speed of each step of a program with the peak speed of the machine."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rushlight.backends.cpu.plan.payload import read_plan
from rushlight.backends.cpu.plan.work import Work, work_of
from rushlight.cli.arguments import count_text
from rushlight.format.program import DelegateCall, ExecutionPlan
from rushlight.format.pte import PTEFile, read_pte
from rushlight.ir.json_types import JsonObject
from rushlight.runtime import _native

Timing = tuple[str, int, int, bool, float]


@dataclass(frozen=True)
class Row:
    """An instruction, or a step of CpuBackend inside the last instruction before it.

    Attributes:
        name: the name of the operator or step.
        is_step: whether this is a step.
        seconds: the median time of a run, in seconds.
        work: the shape of the result, the operations and the bytes; None if they are not known.
    """

    name: str
    is_step: bool
    seconds: float
    work: Work | None


@dataclass(frozen=True)
class Roofline:
    """The time of every instruction and step, in the order in which they run, and the machine's peaks.

    Attributes:
        rows: instructions and steps.
        arithmetic: the machine's peak in operations per second.
        bandwidth: the machine's peak in bytes per second read from memory.
        hand_off: the seconds between starting one empty task per thread and the end of all tasks.
        threads: the number of threads.
    """

    rows: list[Row]
    arithmetic: float
    bandwidth: float
    hand_off: float
    threads: int

    @property
    def seconds(self) -> float:
        """The sum of the times of all instructions, in seconds; 1 if there is no time."""
        return sum(row.seconds for row in self.rows if not row.is_step) or 1.0

    def to_dict(self) -> JsonObject:
        """Returns all attributes as JSON data."""
        rows = []
        for row in self.rows:
            fact: JsonObject = {"name": row.name, "is_step": row.is_step, "seconds": row.seconds}
            if row.work is not None:
                fact |= {
                    "shape": list(row.work.shape),
                    "operations": row.work.operations,
                    "bytes": row.work.bytes,
                }
            rows.append(fact)
        return {
            "threads": self.threads,
            "peak_operations_per_second": self.arithmetic,
            "peak_bytes_per_second": self.bandwidth,
            "hand_off_seconds": self.hand_off,
            "rows": rows,
        }

    def lines(self) -> list[str]:
        """Returns the lines of a table for the terminal."""
        lines = [
            f"{self.arithmetic / 1e9:.0f} GFLOP/s and {self.bandwidth / 1e9:.1f} GB/s"
            + f" measured with {count_text(self.threads, 'thread')}"
            + (
                f"; starting and ending a task takes {self.hand_off * 1e6:.1f} us" if self.threads > 1 else ""
            ),
            f"{'step':26} {'output':>18} {'us':>9} {'share':>6} "
            f"{'GFLOP/s':>8} {'peak':>5} {'GB/s':>6} {'peak':>5}",
        ]
        lines += [self._line(row) for row in self.rows]
        total = self.seconds
        works = [row.work for row in self.rows if row.work is not None and row.seconds > 0]
        rate = sum(work.operations for work in works) / total
        lines.append(
            f"{'all':26} {'':18} {total * 1e6:9.1f} {'':6} {rate / 1e9:8.1f} {rate / self.arithmetic:5.0%}"
        )
        return lines

    def _line(self, row: Row) -> str:
        label, work = f"  {row.name}" if row.is_step else row.name, row.work
        shape = "" if work is None else "x".join(map(str, work.shape))
        line = f"{label[:26]:26} {shape:>18} {row.seconds * 1e6:9.1f} {row.seconds / self.seconds:6.1%}"
        if work is not None and row.seconds > 0:
            rate, moved = work.operations / row.seconds, work.bytes / row.seconds
            line += f" {rate / 1e9:8.1f} {rate / self.arithmetic:5.0%}"
            line += f" {moved / 1e9:6.1f} {moved / self.bandwidth:5.0%}"
        return line


def roofline(
    program: bytes, method: Any, name: str, inputs: list[object], runs: int, threads: int
) -> Roofline:
    """Measures every instruction of a method, and every step of CpuBackend.

    Args:
        program: the bytes of a .pte file.
        method: the timed method, loaded from `program`.
        name: the name of the method.
        inputs: the inputs of the method.
        runs: the number of runs; the result has the median times.
        threads: the number of threads of the method, which the measurement of the peaks uses too.
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
    return Roofline(_rows(timings, medians, works), arithmetic, bandwidth, hand_off, threads)


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


def _rows(
    timings: list[Timing], seconds: list[float], works: Mapping[tuple[int, int], list[Work]]
) -> list[Row]:
    rows = []
    at = 0
    for (name, chain, instruction, is_step, _), time in zip(timings, seconds, strict=True):
        work = None
        if not is_step:
            at = 0
        elif (chain, instruction) in works:
            work = works[chain, instruction][at]
            at += 1
        rows.append(Row(name, is_step, time, work))
    return rows
