"""`rushlight profile`: prints the source lines of the model on which a program spends most time."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rushlight.cli.arguments import (
    Commands,
    add_program_options,
    at_least,
    check_folder,
    count_text,
    method_name,
    read_inputs,
    time_text,
)
from rushlight.cli.diff import instruction_names
from rushlight.cli.records import RUNS, add_record_options, record_of, traced
from rushlight.devtools.inspector.events import Event
from rushlight.devtools.inspector.inspector import Inspector, check_trace_path
from rushlight.files import write_file
from rushlight.format.pte import read_pte_file
from rushlight.ir.text_table import text_table


def add_to(commands: Commands) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "profile",
        help="print the source lines of the model that take the most time",
        description="Runs a method, and prints the source lines of the model whose operators take the most "
        "time, also inside delegates.",
        epilog="example: rushlight profile model.pte --etrecord model.etrecord --trace trace.json",
    )
    add_program_options(parser)
    add_record_options(parser)
    parser.add_argument(
        "--runs", type=at_least(1), default=RUNS, help="the number of runs (default: %(default)s)"
    )
    parser.add_argument(
        "--top", type=at_least(1), default=10, help="the number of rows (default: %(default)s)"
    )
    parser.add_argument(
        "--by",
        choices=("line", "module", "operator", "step"),
        default="line",
        help="the meaning of a row. A step is a kernel call, or a step inside a delegate; --by step needs no "
        "ETRecord (default: %(default)s)",
    )
    parser.add_argument("--events", action="store_true", help="also print the table of all events")
    parser.add_argument(
        "--trace",
        type=Path,
        metavar="FILE",
        help="write a trace for Perfetto (ui.perfetto.dev): .json, or .pftrace, which is smaller",
    )
    parser.add_argument("--etdump", type=Path, metavar="FILE", help="write the recorded events as an ETDump")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Prints the rows that take the most time."""
    check_folder("--etdump", options.etdump)
    check_folder("--trace", options.trace)
    if options.trace:
        check_trace_path(options.trace)
    is_named_by_trace = options.by == "step" and options.etrecord is None and options.module is None
    record = (
        None
        if is_named_by_trace
        else record_of(options, ". `rushlight profile --by step` needs neither of them")
    )
    inspector, dump = traced(
        options, lambda method: read_inputs(method.metadata, options.inputs), options.runs, record
    )
    if options.etdump:
        write_file(options.etdump, dump)
    if options.trace:
        inspector.save_trace(options.trace)
    plans = {plan.name: plan for plan in read_pte_file(Path(options.program)).program.execution_plan}
    names = instruction_names(plans[method_name(set(plans), options)])
    rows = costs(inspector, options.by, names)
    total = sum(row.time for row in rows)
    if options.json:
        facts = [
            {**vars(row), "time": row.time / 1e3, "share": row.time / total if total else 0.0} for row in rows
        ]
        print(
            json.dumps(
                {"runs": options.runs, "unit": "ms", "total": total / 1e3, f"{options.by}s": facts}, indent=2
            )
        )
        return
    if options.events:
        inspector.print_data_tabular()
    cells = [
        [
            time_text(row.time / 1e6),
            f"{row.time / total:.1%}" if total else "",
            row.name or f"({options.by} unknown)",
            row.code,
            _shortened(row.modules),
            _shortened(row.operators),
        ]
        for row in rows[: options.top]
    ]
    print(f"{time_text(total / 1e6)} in operators, median of {count_text(options.runs, 'run')}")
    head = ["time", "share", options.by, "code", "in modules", "operators"]
    print(text_table(head, cells, right={0, 1}))


def _shortened(names: list[str]) -> str:
    return ", ".join(names[:2]) + (" ..." if len(names) > 2 else "")


@dataclass
class Cost:
    """The time of a source line, a module, an operator or a step.

    Attributes:
        name: "file:line", the path of the module ("(the model itself)" for an operator that the model's own
            forward() calls), the operator, or the step; "" if it is not known.
        code: the source text of the line.
        time: the sum of the median times of its operators, in us. If a step computes operators of several
            lines or modules, each of these gets an equal share of its time.
        modules: the modules that called the line.
        operators: the operators of the program that compute it.
    """

    name: str
    code: str = ""
    time: float = 0.0
    modules: list[str] = field(default_factory=list)
    operators: list[str] = field(default_factory=list)


def costs(inspector: Inspector, by: str = "line", names: Sequence[str] = ()) -> list[Cost]:
    """Returns the time of each line, module or operator of the model, or of each kind of step, largest first.

    Args:
        inspector: the recorded events.
        by: "line", "module", "operator" or "step".
        names: the names of the method's instructions, which replace the names of events of kernel calls.
    """
    found: dict[str, Cost] = {}
    for event, share in counted_events(inspector):
        assert event.perf_data is not None
        step, time = event.step_name or event.name, event.perf_data.p50 * share
        if not event.is_delegated_op and event.instruction is not None and event.instruction < len(names):
            step = names[event.instruction]
        known = [(_name(operator, by, step), operator) for operator in event.computed]
        if by == "step" and not known:
            found.setdefault(step, Cost(step)).time += time
            continue
        parts = list(dict.fromkeys(name for name, _ in known)) or [""]
        for name in parts:
            row = found.setdefault(name, Cost(name))
            row.time += time / len(parts)
            for own, operator in known:
                if own == name:
                    row.code = operator.code if by == "line" else ""
                    _add_new(row.modules, operator.module if by != "module" else "")
                    _add_new(row.operators, operator.op if by != "operator" else "")
            if not known:
                _add_new(row.operators, step)
    return sorted(found.values(), key=lambda row: -row.time)


def _name(operator: Any, by: str, step: str) -> str:
    names = {
        "line": operator.line,
        "module": operator.module or "(the model itself)",
        "operator": operator.op,
        "step": step,
    }
    name = names[by]
    return str(name or "")


def counted_events(inspector: Inspector) -> list[tuple[Event, float]]:
    """Returns the events whose times add up to the time of a run: kernels, steps, delegates without steps.

    Args:
        inspector: the recorded events.

    Returns:
        Each event with the share of the runs that have it. If a method has control flow, its runs may have
        different events, and the time of an event is multiplied by its share.
    """
    chosen = []
    for block in inspector.event_blocks:
        stepped = {event.instruction for event in block.events if event.is_delegated_op}
        for event in block.events:
            is_whole = event.name == "DELEGATE_CALL" and event.instruction not in stepped
            if event.perf_data is not None and (is_whole or not event.is_framework):
                chosen.append((event, block.share))
    return chosen


def _add_new(names: list[Any], name: Any) -> None:
    if name and name not in names:
        names.append(name)
