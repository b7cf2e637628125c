"""`rushlight size`: prints the sizes of the parts of a program."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushlight.backends.cpu.plan.names import step_name
from rushlight.backends.cpu.plan.payload import read_plan
from rushlight.backends.xnnpack.payload import read_payload
from rushlight.cli.arguments import Commands, count_text, size_text
from rushlight.cli.records import add_record_file_option, record_file
from rushlight.devtools.inspector.operators import Operator, look_up, operators_of
from rushlight.format.program import DelegateCall, ExecutionPlan, KernelCall, Tensor
from rushlight.format.pte import PTEFile, read_pte_file
from rushlight.ir.json_types import JsonObject
from rushlight.ir.text_table import text_table

if TYPE_CHECKING:
    from rushlight.devtools.etrecord.record import ETRecord

SHOWN = 20  # layers in the table; --json prints all layers


def add_to(commands: Commands) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "size",
        help="print the sizes of the parts of a program",
        description="Prints the sizes of tables, constants, delegates and named data, the sizes of the "
        "weights of each layer, and data that the file contains more than once.",
        epilog="example: rushlight size model.pte --etrecord model.etrecord",
    )
    parser.add_argument("program", help="a .pte file")
    add_record_file_option(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Prints the sizes."""
    facts = collect(Path(options.program), record_file(options))
    if options.json:
        print(json.dumps(facts, indent=2))
        return
    total = facts["bytes"]
    print(f"{facts['file']}: {size_text(total)}")
    for name, size in facts["parts"].items():
        print(f"  {name:12} {size_text(size):>12}  {size / max(total, 1):6.1%}")
    if facts["layers"]:
        rows = [
            [row["layer"], size_text(row["bytes"]), str(row["count"]), ", ".join(row["kept_in"])]
            for row in facts["layers"][:SHOWN]
        ]
        print(text_table(["layer", "weights", "tensors", "kept in"], rows))
        if len(facts["layers"]) > SHOWN:
            print(f"and {count_text(len(facts['layers']) - SHOWN, 'more layer')} (--json lists all)")
    for group in facts["duplicates"]:
        print(f"duplicate data: {size_text(group['bytes'])} each in {', '.join(group['names'])}")


def collect(path: Path, record: Path | ETRecord | None = None) -> JsonObject:
    """Returns the sizes of the parts of a program as plain data.

    Args:
        path: a .pte file.
        record: the ETRecord of the program or its path. With it, layers are named by module path; without it,
            by operator or payload.

    Raises:
        FormatError: the program is damaged.
        DevtoolsError: the ETRecord is damaged, or belongs to another program.
    """
    file, total = read_pte_file(path), path.stat().st_size
    if isinstance(record, Path):
        from rushlight.devtools.etrecord.saved import parse_etrecord_of

        record = parse_etrecord_of(path, record)
    blobs = dict(_blobs(file))
    parts = {
        "constants": _total(file.constants),
        "state": _total(file.mutable_data),
        "delegates": _total(file.delegate_data),
        "named data": _total(entry.data for entry in file.named_data.values()),
    }
    # The file stores equal constants only once, so that the sum may exceed the size of the file.
    parts["tables"] = max(total - sum(parts.values()), 0)
    return {
        "file": str(path),
        "bytes": total,
        "parts": parts,
        **_weight_tables(file, record),
        "duplicates": _duplicates(blobs),
    }


def _total(items: Any) -> int:
    return sum(memoryview(item).nbytes for item in items)


def _blobs(file: PTEFile) -> Iterator[tuple[str, memoryview]]:
    """Yields all data of a program with their names."""
    for index, constant in enumerate(file.constants):
        yield f"constant {index}", memoryview(constant)
    for index, blob in enumerate(file.delegate_data):
        yield f"delegate {index}", memoryview(blob)
    for key, entry in file.named_data.items():
        yield key, memoryview(entry.data)


def _duplicates(blobs: Mapping[str, memoryview]) -> list[JsonObject]:
    """The data that the file contains more than once, the largest first."""
    groups: dict[str, list[str]] = {}
    for name, blob in blobs.items():
        if blob.nbytes:
            groups.setdefault(hashlib.sha256(blob).hexdigest(), []).append(name)
    found = [{"bytes": blobs[names[0]].nbytes, "names": names} for names in groups.values() if len(names) > 1]
    return sorted(found, key=lambda group: -int(group["bytes"]) * (len(group["names"]) - 1))


def _weight_tables(file: PTEFile, record: ETRecord | None) -> dict[str, list[JsonObject]]:
    """The weights by layer and by operator, the largest first.

    Each weight belongs to the first operator that reads it.
    """
    layers: dict[str, JsonObject] = {}
    operators: dict[str, JsonObject] = {}
    seen: set[tuple[str, object]] = set()
    for plan in file.program.execution_plan:
        names = _Names(plan.name, record)
        for weight in _weights(file, plan, names):
            if weight.key in seen:
                continue
            seen.add(weight.key)
            row = layers.setdefault(
                weight.layer, {"layer": weight.layer, "bytes": 0, "count": 0, "kept_in": []}
            )
            other = operators.setdefault(
                weight.operator, {"operator": weight.operator, "bytes": 0, "count": 0}
            )
            for counted in (row, other):
                counted["bytes"] += weight.size
                counted["count"] += 1
            if weight.kept_in not in row["kept_in"]:
                row["kept_in"].append(weight.kept_in)
    tables = {"layers": layers.values(), "operators": operators.values()}
    return {name: sorted(rows, key=lambda row: -int(row["bytes"])) for name, rows in tables.items()}


class _Names:
    """The names of layers by instruction and debug handle."""

    def __init__(self, method: str, record: ETRecord | None) -> None:
        self._operators: dict[int, list[Operator]] = {}
        self._handles: dict[int, tuple[int, ...]] = {}
        self._steps: dict[int, tuple[str, dict[str, tuple[int, ...]]]] = {}
        if record is not None:
            edge = record.edge_programs.get(method)
            self._operators = {} if edge is None else operators_of(edge)
            self._handles = record.handles_of(method)
            self._steps = record.delegates_of(method)

    def of_instruction(self, index: int, operator: str) -> str:
        """The layer of a kernel call: its module if it is known, else the operator."""
        return self._module(self._handles.get(index, ())) or f"{operator} (instruction {index})"

    def of_step(self, index: int, handle: int, operation: str) -> str:
        """The layer of a step inside a delegate: its module if it is known, else the operation."""
        _, steps = self._steps.get(index, ("", {}))
        return self._module(steps.get(str(handle), ())) or f"{operation} (step {handle})"

    def _module(self, handles: tuple[int, ...]) -> str:
        modules = [found.module for found in look_up(self._operators, handles) if found.module]
        return modules[0] if modules else ""


@dataclass(frozen=True)
class _Weight:
    """A weight that an instruction or a step reads."""

    key: tuple[str, Any]
    size: int
    layer: str
    operator: str
    kept_in: str


def _weights(file: PTEFile, plan: ExecutionPlan, names: _Names) -> Iterator[_Weight]:
    """The weights in the order in which they are read."""
    index = -1
    for instruction in (item for chain in plan.chains for item in chain.instructions):
        index += 1
        call = instruction.instr_args
        if isinstance(call, KernelCall):
            operator = plan.operators[call.op_index].name
            for argument in call.args:
                value = plan.values[argument].val
                if isinstance(value, Tensor) and value.data_buffer_idx and value.allocation_info is None:
                    size = memoryview(file.constants[value.data_buffer_idx]).nbytes
                    layer = names.of_instruction(index, operator)
                    yield _Weight(("constant", value.data_buffer_idx), size, layer, operator, "constants")
        elif isinstance(call, DelegateCall):
            delegate = plan.delegates[call.delegate_index]
            payload = bytes(file.delegate_data[delegate.processed.index])
            for key, handle, operation in _named(delegate.id, payload):
                entry = file.named_data.get(key)
                if entry is not None:
                    layer, size = names.of_step(index, handle, operation), memoryview(entry.data).nbytes
                    kept_in = f"named data of {delegate.id}"
                    yield _Weight(("named", key), size, layer, operation, kept_in)


def _named(backend: str, payload: bytes) -> Iterator[tuple[str, int, str]]:
    """Yields key, debug handle and operation for the named data that the steps of a payload read."""
    if backend == "CpuBackend":
        plan = read_plan(payload)
        for step in plan.steps:
            for _, value in step.operation.operands():
                name = plan.storages[plan.values[value].storage].name
                if name:
                    yield name, step.debug_handle, step_name(plan, step.operation)
    elif backend == "XnnpackBackend":
        graph, _ = read_payload(payload)
        for node in graph.xnodes:
            for value in vars(node.xnode_union).values():
                key = _named_key(graph, value)
                if key:
                    yield key, node.debug_handle, type(node.xnode_union).__name__


def _named_key(graph: Any, value: Any) -> str:
    """The key of the named data of a constant value in an XNNPACK graph; "" for other values."""
    if not isinstance(value, int) or not 0 <= value < len(graph.xvalues):
        return ""
    tensor = graph.xvalues[value].xvalue_union
    tensor = getattr(tensor, "tensor_value", tensor)
    index = getattr(tensor, "constant_buffer_idx", 0)
    return graph.constant_data[index].named_key if 0 < index < len(graph.constant_data) else ""
