"""Exported programs from JSON in ExecuTorch's schema."""

from __future__ import annotations

import base64
import dataclasses
import functools
import json
import math
import operator
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from torch._export.serde import schema, serialize
from torch._export.serde.union import _Union
from torch._export.verifier import Verifier, load_verifier
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges

from rushlight.delegate.backend import CompileSpec
from rushlight.delegate.lowered import LoweredBackendModule
from rushlight.delegate.named_data import DataEntry, NamedDataStoreOutput
from rushlight.devtools.errors import DevtoolsError
from rushlight.devtools.etrecord.json_schema import (
    BACKEND_OPS,
    DELEGATE,
    EDGE_OPS,
    RESULTS,
    VERSION,
    CallFacts,
    call_nodes,
    converted,
    graph_modules,
    json_graphs,
    to_newer,
)
from rushlight.devtools.etrecord.values import load_values
from rushlight.format.flat_tensor import TensorLayout
from rushlight.format.program import ScalarType
from rushlight.ir import meta
from rushlight.ir.control_flow import is_delegate_call
from rushlight.ir.edge_ops import aten_op, ops
from rushlight.ir.json_types import JsonObject
from rushlight.ir.program import program_around
from rushlight.ir.verifier import EDGE, edge_verifier

_NAME = re.compile(r"(?<!')\b[su]\d+\b(?!')")  # of a symbol, where it stands without Symbol('...')


@functools.cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """Returns the function that makes a value of a type of torch's schema from JSON.

    It does what torch's own function does, which looks up the types of the fields for each value again.
    """
    kind = serialize._resolve_schema_cls(kind)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _reader(arguments[0])
    if origin in (typing.Union, types.UnionType):
        inner = _reader(next(argument for argument in arguments if argument is not type(None)))
        return lambda data: None if data is None else inner(data)
    if origin is list:
        item = _reader(arguments[0])
        return lambda data: [item(value) for value in data]
    if origin is dict:
        entry = _reader(arguments[1])
        return lambda data: {key: entry(value) for key, value in data.items()}
    if isinstance(kind, type) and (dataclasses.is_dataclass(kind) or issubclass(kind, _Union)):
        return _reader_of_class(kind)
    return float if kind is float else lambda data: data


def _reader_of_class(kind: Any) -> Callable[[Any], Any]:
    """The reader of a class, which ignores keys that the class does not have; a union has one key."""
    hints = typing.get_type_hints(kind, globalns=vars(schema))
    make = kind.create if issubclass(kind, _Union) else kind
    readers: dict[str, Callable[[Any], Any]] = {}  # filled at the first use: classes contain each other

    def read(data: dict[str, Any]) -> Any:
        found = {}
        for name, value in data.items():
            if name in hints:
                if name not in readers:
                    readers[name] = _reader(hints[name])
                found[name] = readers[name](value)
        return make(**found)

    return read


def from_json(
    data: JsonObject, state_dict: Any, constants: Any, example_inputs: Any = None
) -> ExportedProgram:
    """Makes a program from its JSON.

    Args:
        data: the JSON of the graph and its signature.
        state_dict, constants, example_inputs: the values of the program's other files.

    Raises:
        DevtoolsError: the JSON has another version, or calls operators that are not known.
    """
    version = data["schema_version"]
    if version["major"] != VERSION["major"]:
        raise DevtoolsError(
            f"a program of the ETRecord has the schema version {version['major']}.{version['minor']}; "
            f"Rushlight reads {VERSION['major']}.x, which ExecuTorch 1.x writes"
        )
    graph_module = converted(data["graph_module"], to_newer)
    calls = [_take_edge_facts(graph) for graph in json_graphs(graph_module["graph"])]
    ranges = {
        name: ValueRanges(_bound(found["min_val"], -int_oo), _bound(found["max_val"], int_oo))
        for name, found in data["range_constraints"].items()
    }
    _restore_symbols(graph_module, ranges)
    found = serialize.GraphModuleDeserializer().deserialize(
        _reader(schema.GraphModule)(graph_module),
        state_dict,
        constants,
        example_inputs,
        ranges,
    )
    modules = list(graph_modules(found.graph_module))
    for module, facts in zip(modules, calls, strict=True):
        for node, (target, call) in zip(call_nodes(module), facts, strict=True):
            if target is not None:
                node.target = target
            if call.handle is not None:
                meta.set_debug_handle(node, call.handle)
            for user in node.users:
                if user.target is operator.getitem and str(user.args[1]) in call.results:
                    meta.set_debug_handle(user, call.results[str(user.args[1])])
            _give_by_position(node)
        _restore_lowered(module)
        for node in reversed(module.graph.find_nodes(op="call_function", target=operator.getitem)):
            if not node.users and "_unused_" in node.name:  # the schema names every result
                module.graph.erase_node(node)
    symbols = found.names_to_symbols
    return program_around(
        found.graph_module,
        found.signature,
        state_dict=dict(found.state_dict),
        constants=dict(found.constants),
        range_constraints={symbols[name]: limits for name, limits in ranges.items() if name in symbols},
        module_call_graph=found.module_call_graph,
        example_inputs=found.example_inputs,
        verifiers=[_verifier(dialect) for dialect in data.get("verifiers") or [""]],
    )


def _restore_symbols(data: object, ranges: Mapping[str, ValueRanges[Any]]) -> None:
    """Gives the names in expressions back what torch assumes of symbols; `data` is changed in place.

    torch makes integers of all symbols, and positive ones of those of sizes, whose names begin with "s".
    """

    def symbol(match: re.Match[str]) -> str:
        name = match[0]
        is_size = name.startswith("s") and (name not in ranges or bool(ranges[name].lower >= 0))
        return f"Symbol('{name}', {'positive=True, ' if is_size else ''}integer=True)"

    if isinstance(data, list):
        for item in data:
            _restore_symbols(item, ranges)
    elif isinstance(data, dict):
        for key, value in data.items():
            if key == "expr_str" and isinstance(value, str):
                data[key] = _NAME.sub(symbol, value)
            else:
                _restore_symbols(value, ranges)


def _verifier(dialect: str) -> type[Verifier]:
    return edge_verifier(enabled=False) if dialect == EDGE else load_verifier(dialect)


def _give_by_position(node: Node) -> None:
    """Gives arguments by position, as exported programs do; the schema does not say how they were given."""
    op = aten_op(node.target)
    if op is None:
        return
    arguments, named = list(node.args), dict(node.kwargs)
    for declared in op._schema.arguments[len(arguments) :]:
        if declared.kwarg_only or declared.name not in named:
            break
        arguments.append(named.pop(declared.name))
    node.args, node.kwargs = tuple(arguments), named


def _bound(value: Any, infinite: Any) -> Any:
    if value is None or (isinstance(value, float) and math.isinf(value)):
        return infinite
    return serialize._int_to_sympy_int(int(value), infinite)


def _take_edge_facts(graph: JsonObject) -> list[tuple[Any, CallFacts]]:
    """The edge operator (or None) and facts of each call; leaves names that torch knows."""
    found: list[tuple[Any, CallFacts]] = []
    for node in graph["nodes"]:
        target = None
        name = None
        for prefix, dialect in ((EDGE_OPS, "edge"), (BACKEND_OPS, "backend")):
            if node["target"].startswith(prefix):
                name = node["target"].removeprefix(prefix)
                target = _operator(dialect, name)
                node["target"] = f"torch.ops.{name}"
        node["is_hop_single_tensor_return"] = True  # a tuple with one tensor is `as_tensors`
        if node["target"] == DELEGATE:
            for argument in node["inputs"]:
                argument["kind"] = int(schema.ArgumentKind.POSITIONAL)
        handle = node["metadata"].pop("debug_handle", None)
        # Names of functions that torch would have to import are of no use here.
        node["metadata"].pop("source_fn_stack", None)
        results = json.loads(node["metadata"].pop(RESULTS, "{}"))
        found.append((target, CallFacts(name, None if handle is None else int(handle), results)))
    return found


def _operator(dialect: str, name: str) -> Any:
    value = getattr(ops, dialect)
    try:
        for part in name.split("."):
            value = getattr(value, part)
    except (AttributeError, RuntimeError) as error:
        raise DevtoolsError(
            f"the ETRecord calls the operator {name}, which is not registered in this process; import the "
            "module that defines it"
        ) from error
    return value


def _restore_lowered(module: GraphModule) -> None:
    """Makes lowered modules of the texts of a graph's delegate calls."""
    for index, node in enumerate(node for node in module.graph.nodes if is_delegate_call(node)):
        text = node.args[0]
        assert isinstance(text, str)
        data = json.loads(text)
        name = f"lowered_module_{index}"
        store = data.get("named_data_store")
        lowered = LoweredBackendModule(
            from_json(
                data["original_module"],
                load_values(base64.b64decode(data["original_state_dict"]), name),
                load_values(base64.b64decode(data["original_constants"]), name),
            ),
            data["backend_id"],
            base64.b64decode(data["processed_bytes"]),
            [CompileSpec(spec["key"], base64.b64decode(spec["value"])) for spec in data["compile_specs"]],
            None if store is None else _read_store(json.loads(store)),
        )
        module.add_module(name, lowered)
        with module.graph.inserting_before(node):
            attribute = module.graph.get_attr(name)
        node.args = (attribute, *node.args[1:])


def _read_store(data: JsonObject) -> NamedDataStoreOutput:
    def entries(table: JsonObject) -> dict[str, DataEntry]:
        return {
            key: DataEntry(entry["buffer_index"], entry["alignment"], _layout(entry.get("tensor_layout")))
            for key, entry in table.items()
        }

    return NamedDataStoreOutput(
        [base64.b64decode(buffer) for buffer in data["buffers"]],
        entries(data["pte_data"]),
        {tag: entries(table) for tag, table in (data.get("external_data") or {}).items()},
    )


def _layout(data: JsonObject | None) -> TensorLayout | None:
    if data is None:
        return None
    return TensorLayout(ScalarType(data["scalar_type"]), data["sizes"], data["dim_order"])
