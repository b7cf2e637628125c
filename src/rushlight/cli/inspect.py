"""`rushlight inspect`: shows every operator of a program, in the terminal and as an HTML page."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushlight.cli import info, size
from rushlight.cli.arguments import Commands, check_folder, count_text, size_text, time_text
from rushlight.cli.records import add_record_file_option, record_file
from rushlight.devtools.errors import DevtoolsError
from rushlight.devtools.view.page import page
from rushlight.devtools.view.program import Arena, MethodGraph, method_graphs
from rushlight.files import write_file
from rushlight.format.pte import program_fingerprint, read_pte_file
from rushlight.ir.json_types import JsonObject
from rushlight.ir.text_table import text_table

if TYPE_CHECKING:
    from rushlight.devtools.etrecord.record import ETRecord

_SHOWN = 12  # rows of each table in the terminal; --json and --html contain all rows


def add_to(commands: Commands) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "inspect",
        help="show every operator with its module, time, memory and weights, also as an HTML page",
        description="Shows all parts of a program: the operators, also inside delegates, with their "
        "modules and times, the memory plan, the weights, and the partition (which backend runs which "
        "operators). `rushlight info` prints only a summary.",
        epilog="example: rushlight inspect model.pte --etdump run.etdp --html model.html",
    )
    parser.add_argument("program", help="a .pte file")
    add_record_file_option(parser)
    parser.add_argument(
        "--etdump",
        type=Path,
        metavar="FILE",
        help="an ETDump of the program with the times of its operators; `rushlight profile --etdump` "
        "writes it",
    )
    parser.add_argument(
        "--html",
        type=Path,
        metavar="FILE",
        help="write an HTML page that needs no network, with the graph by modules, the memory plan over "
        "time, and the weights",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Prints the tables and writes the HTML page."""
    check_folder("--html", options.html)
    path = Path(options.program)
    facts = collect(path, record_file(options), options.etdump)
    graphs = facts["graphs"]
    if options.html:
        write_page(options.html, path, facts)
    if options.json:
        plain = {**facts, "graphs": [graph.asdict() for graph in graphs]}
        print(json.dumps(plain, indent=2))
        return
    info.print_header(facts["info"])
    for graph in graphs:
        _print_graph(graph)
    _print_reasons(facts["partition"])
    print("bytes:")
    for name, count in facts["size"]["parts"].items():
        print(f"  {name:12} {size_text(count):>12}")
    if options.html:
        print(f"{options.html}: {size_text(options.html.stat().st_size)}")


def collect(path: Path, record: Path | None = None, etdump: Path | None = None) -> JsonObject:
    """Returns the data of the HTML page: "info", "size", "graphs" (a list of `MethodGraph`) and "partition".

    Args:
        path: a .pte file.
        record: the path of its ETRecord, which names modules and source lines.
        etdump: the path of an ETDump, which provides times.

    Raises:
        FormatError: the program is damaged.
        DevtoolsError: the ETRecord or ETDump is damaged, or belongs to another program.
    """
    file = read_pte_file(path)
    parsed: ETRecord | None = None
    if record is not None:
        from rushlight.devtools.etrecord.saved import parse_etrecord_of

        parsed = parse_etrecord_of(path, record)
    inspector = None
    if etdump is not None:
        from rushlight.devtools.inspector.inspector import Inspector

        inspector = Inspector(etdump_path=etdump, etrecord=parsed)
        ran, wanted = inspector.program_fingerprint, program_fingerprint(path.read_bytes())
        if ran and ran != wanted:
            raise DevtoolsError(
                f"the ETDump {etdump} does not belong to {path}: the fingerprint of the recorded program is "
                f"{ran:016x}, and the fingerprint of the file is {wanted:016x}; record a run of this file"
            )
    graphs = method_graphs(file, parsed, inspector)
    return {
        "info": info.collect(path),
        "size": size.collect(path, parsed),
        "graphs": graphs,
        "partition": [row for graph in graphs for row in _partition(graph, parsed)],
    }


def write_page(target: Path, path: Path, facts: JsonObject) -> None:
    """Writes the HTML page.

    Args:
        target: the file.
        path: the program.
        facts: the result of `collect`.
    """
    write_file(target, page(path.name, facts["graphs"], facts["size"], facts["partition"]))


def _partition(graph: MethodGraph, record: ETRecord | None) -> list[JsonObject]:
    """The partition: kernels with the reasons why no backend supports them, then steps by operation."""
    reasons = {} if record is None else _reasons(graph, record)
    kernels: Counter[tuple[str, str, str, str]] = Counter()
    steps: Counter[tuple[str, str]] = Counter()
    for node in graph.nodes:
        if node.kind == "kernel":
            module, line = node.modules[-1:] or [""], node.lines[-1:] or [""]
            found = next((reasons[key] for key in node.operators if key in reasons), "")
            kernels[node.name, module[0], line[0], found] += 1
        elif node.backend:
            steps[node.backend, node.name] += 1
    rows = [
        {
            "place": "kernel",
            "operator": name,
            "count": count,
            "module": module,
            "line": line,
            "reason": reason,
        }
        for (name, module, line, reason), count in kernels.items()
    ]
    rows += [
        {"place": place, "operator": name, "count": count} for (place, name), count in steps.most_common()
    ]
    return [{"method": graph.name, **row} for row in rows]


def _reasons(graph: MethodGraph, record: ETRecord) -> dict[str, str]:
    """The reasons why the backends do not support an operator, by operator, as their partitioners report."""
    from rushlight.backends.cpu.partitioner import CpuPartitioner
    from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
    from rushlight.ir.program import copy_program

    edge = record.edge_programs.get(graph.name)
    used = {node.backend for node in graph.nodes}
    if edge is None or not used - {""}:
        return {}
    makers: dict[str, Any] = {"CpuBackend": CpuPartitioner, "XnnpackBackend": XnnpackPartitioner}
    found: dict[str, str] = {}
    for backend in sorted(used & makers.keys()):
        partitioner = makers[backend]()
        partitioner.partition(copy_program(edge))
        for node, reason in partitioner.report.reasons.items():
            found.setdefault(getattr(node.target, "__name__", str(node.target)), f"{backend}: {reason}")
    return found


def _print_reasons(partition: list[JsonObject]) -> None:
    """Prints the reasons why kernels, and not a backend, run some operators."""
    rows = [[row["operator"], row["line"], row["reason"]] for row in partition if row.get("reason")]
    if rows:
        print(text_table(["runs on a kernel", "line", "reason"], rows[:_SHOWN]))
    if len(rows) > _SHOWN:
        print(f"and {count_text(len(rows) - _SHOWN, 'more operator')} (--json and --html show all)")


def _print_graph(graph: MethodGraph) -> None:
    """Prints the operators and the memory of a method."""
    counts: Counter[tuple[str, str]] = Counter()
    times: Counter[tuple[str, str]] = Counter()
    for node in graph.nodes:
        if node.instruction >= 0:
            key = (node.name, node.backend or node.kind)
            counts[key] += 1
            times[key] += node.time or 0  # type: ignore[assignment]
    rows = []
    order = times if graph.total_time else counts
    for key, _ in order.most_common(_SHOWN):
        row = [str(counts[key]), *key]
        if graph.total_time:
            row += [time_text(times[key] / 1e3), f"{times[key] / graph.total_time:.1%}"]
        rows.append(row)
    print(f"operators of {graph.name}:")
    head = ["count", "operator", "runs on", *(["time", "share"] if graph.total_time else [])]
    print(text_table(head, rows, right={0, 3, 4}))
    if len(counts) > _SHOWN:
        print(f"and {count_text(len(counts) - _SHOWN, 'more operator')} (--json and --html show all)")
    for arena in graph.arenas:
        at = graph.nodes[arena.peak_at]
        place = ", ".join(at.modules[-1:]) or at.name
        print(f"memory of {arena.name}: {size_text(arena.size)}, {size_text(arena.peak)} in use at {place}")
        if arena.memory:
            _print_plan(arena, graph)


def _print_plan(arena: Arena, graph: MethodGraph) -> None:
    """Prints the offsets and lifetimes of the largest tensors of a memory."""
    largest = sorted(arena.blocks, key=lambda block: (-block.size, block.offset, block.start))
    rows = [
        [
            str(block.offset),
            str(block.size),
            block.name,
            f"{block.start} {graph.nodes[block.start].name}",
            f"{block.end} {graph.nodes[block.end].name}",
        ]
        for block in largest[:_SHOWN]
    ]
    print(text_table(["offset", "bytes", "tensor", "first use", "last use"], rows))
    if len(largest) > _SHOWN:
        print(f"and {count_text(len(largest) - _SHOWN, 'smaller tensor')} (--json and --html show all)")
