"""Exported programs as the files of an ETRecord: JSON in ExecuTorch's schema 5.4, and saved tensors.

torch's serializer writes its own schema (version 8). The graphs of both schemas differ in a few names and
numbers only, so programs are written and read by torch, and the JSON is converted. Operators of the edge
dialect are ATen operators for torch; their names, debug handles and delegate calls are added to the JSON.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import io
import json
import math
import operator
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
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
from rushlight.format.flat_tensor import TensorLayout
from rushlight.format.program import ScalarType
from rushlight.ir import meta
from rushlight.ir.control_flow import is_delegate_call
from rushlight.ir.edge_ops import BackendOpOverload, EdgeOpOverload, aten_op, ops
from rushlight.ir.json_types import JsonObject
from rushlight.ir.program import copy_program, program_around
from rushlight.ir.verifier import EDGE, edge_verifier

_VERSION = {"major": 5, "minor": 4}
_EDGE_OPS = "executorch.exir.dialects.edge.ops."
_BACKEND_OPS = "executorch.exir.dialects.backend.ops."
_RESULTS = "result_debug_handles"  # an entry of a node's metadata, which ExecuTorch leaves unread
_DELEGATE = "torch.ops.higher_order.executorch_call_delegate"
# Fields of torch's schema that ExecuTorch's lacks.
_NEW_FIELDS = frozenset(
    (
        "kind",
        "is_hop_single_tensor_return",
        "forward_arg_names",
        "sym_float_values",
        "treespec_namedtuple_fields",
    )
)
# Numbers of dtypes in ExecuTorch's schema where torch's has others.
_DTYPES = {28: 14, 29: 16, 30: 15}
_SYMBOL = re.compile(r"Symbol\('(\w+)'[^)]*\)")
_NAME = re.compile(r"(?<!')\b[su]\d+\b(?!')")  # of a symbol, where it stands without Symbol('...')
_DTYPES_BACK = {number: torch_number for torch_number, number in _DTYPES.items()}


@dataclass(frozen=True)
class ProgramFiles:
    """The four files of a program.

    Attributes:
        program: the graph as JSON.
        state_dict, constants, example_inputs: what `torch.save` writes of them; empty where there is nothing.
    """

    program: bytes
    state_dict: bytes
    constants: bytes
    example_inputs: bytes


def write_program(program: ExportedProgram) -> ProgramFiles:
    """Writes a program, which is not changed.

    Args:
        program: a program of torch.export, an edge program, or an edge program with lowered modules.

    Raises:
        DevtoolsError: the schema has no place for something in the program. The message names the node.
    """
    data, custom = _to_json(program)
    return ProgramFiles(
        # ExecuTorch knows symbols by their names alone.
        _SYMBOL.sub(r"\1", json.dumps(data)).encode(),
        _save(dict(program.state_dict)),
        _save({**custom, **program.constants}),
        b"" if program.example_inputs is None else _save(program.example_inputs),
    )


def read_program(files: ProgramFiles, name: str) -> ExportedProgram:
    """Reads a program.

    Args:
        files: what `write_program` or ExecuTorch wrote.
        name: names the program in messages.

    Raises:
        DevtoolsError: the files are damaged, have another version, or call operators that are not known.
    """
    try:
        data = json.loads(files.program)
        return _from_json(
            data,
            _load(files.state_dict, f"{name}_state_dict"),
            _load(files.constants, f"{name}_constants"),
            _load(files.example_inputs, f"{name}_example_inputs") or None,
        )
    except DevtoolsError:
        raise
    except Exception as error:  # torch raises assertions, key errors and others for what it cannot read
        raise DevtoolsError(
            f"the program {name!r} of the ETRecord cannot be read: {_first_line(error)}; the file is "
            "damaged, or another version of ExecuTorch wrote it"
        ) from error


def _save(value: object) -> bytes:
    return serialize.serialize_torch_artifact(value)


def _load(data: bytes, name: str) -> Any:
    if not data:
        return {}
    try:
        return torch.load(io.BytesIO(data), weights_only=True)
    except Exception as error:
        raise DevtoolsError(
            f"{name} of the ETRecord cannot be read: {_first_line(error)}; only tensors and plain values are "
            "loaded, never code"
        ) from error


def _first_line(error: Exception) -> str:
    lines = (str(error) or type(error).__name__).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}"


# ---- Writing ----


def _to_json(program: ExportedProgram) -> tuple[JsonObject, JsonObject]:
    """The JSON of a program, and the objects of custom classes that its graph holds."""
    copied = copy_program(program)
    for module in list(_graph_modules(copied.graph_module))[1:]:
        for node in module.graph.find_nodes(op="get_attr"):
            _replace_constant(node)
    facts = [[_facts(node) for node in _calls(m)] for m in _graph_modules(copied.graph_module)]
    for module in _graph_modules(copied.graph_module):
        for node in module.graph.nodes:
            _prepare(node)
    writer = serialize.GraphModuleSerializer(copied.graph_signature, copied.module_call_graph)
    handle_call = writer.handle_call_function

    def handle_call_or_delegate(node: Node) -> None:
        if is_delegate_call(node):
            writer.graph_state.nodes.append(_delegate_node(writer, node))
        else:
            handle_call(node)

    handle_attribute = writer.handle_get_attr

    def handle_attribute_or_lowered(node: Node) -> None:
        if not isinstance(_attribute(node), LoweredBackendModule):
            handle_attribute(node)  # type: ignore[no-untyped-call]

    writer.handle_call_function = handle_call_or_delegate  # type: ignore[method-assign]
    writer.handle_get_attr = handle_attribute_or_lowered  # type: ignore[method-assign]
    try:
        written = writer.serialize(copied.graph_module)
    except serialize.SerializeError as error:
        raise DevtoolsError(f"an ETRecord cannot hold the program: {_reason(error)}") from error
    # Names of union members are strings with a comparison of their own; JSON makes plain strings of them.
    plain = json.loads(json.dumps(serialize._dataclass_to_dict(written), cls=serialize.EnumEncoder))
    graph_module = _converted(plain, _older)
    graph_module.pop("metadata", None)
    for calls, graph in zip(facts, _json_graphs(graph_module["graph"]), strict=True):
        for node, call in zip(graph["nodes"], calls, strict=True):
            node["target"] = call.name or node["target"]
            if call.handle is not None:
                node["metadata"]["debug_handle"] = str(call.handle)
            if call.results:
                node["metadata"][_RESULTS] = json.dumps(call.results)
    ranges = serialize.serialize_range_constraints(program.range_constraints)
    data = {
        "graph_module": graph_module,
        "opset_version": {"aten": torch._C._get_max_operator_version()},
        "range_constraints": {
            name: {
                "min_val": -math.inf if found.min_val is None else found.min_val,
                "max_val": math.inf if found.max_val is None else found.max_val,
            }
            for name, found in ranges.items()
        },
        "schema_version": dict(_VERSION),
        "dialect": "",
        "verifiers": [verifier.dialect for verifier in program.verifiers],
    }
    return data, dict(writer.custom_objs)


def _graph_modules(module: GraphModule) -> Iterator[GraphModule]:
    """A graph module and the bodies of its control flow, in the order in which the serializer meets them."""
    yield module
    for node in module.graph.nodes:
        if node.op == "call_function" and node.target is not operator.getitem:
            for argument in node.args:
                found = _attribute(argument) if isinstance(argument, Node) else None
                if isinstance(found, GraphModule):
                    yield from _graph_modules(found)


def _json_graphs(graph: JsonObject) -> Iterator[JsonObject]:
    """The graphs of the JSON in the order of `_graph_modules`."""
    yield graph
    for node in graph["nodes"]:
        for named in node["inputs"]:
            inner = named["arg"].get("as_graph")
            if inner is not None:
                yield from _json_graphs(inner["graph"])


def _attribute(node: Node) -> object:
    """What a `get_attr` node reads; None for other nodes."""
    if node.op != "get_attr":
        return None
    value: object = node.graph.owning_module
    for part in str(node.target).split("."):
        value = getattr(value, part, None)
    return value


def _calls(module: GraphModule) -> list[Node]:
    """The nodes that have an entry of their own in the JSON."""
    return [
        node
        for node in module.graph.nodes
        if node.op == "call_function" and node.target is not operator.getitem
    ]


@dataclass(frozen=True)
class _Call:
    """What torch's schema does not say of a call.

    Attributes:
        name: the name of its edge operator, or None.
        handle: its debug handle, or None.
        results: the debug handles of the nodes that take one of its results, by the index of the result.
    """

    name: str | None
    handle: int | None
    results: dict[str, int]


def _facts(node: Node) -> _Call:
    items = [user for user in node.users if user.target is operator.getitem]
    handles = {str(item.args[1]): _handle(item) for item in items}
    results = {index: handle for index, handle in handles.items() if handle is not None}
    return _Call(_edge_name(node.target), _handle(node), results)


def _edge_name(target: object) -> str | None:
    if isinstance(target, BackendOpOverload):
        return _BACKEND_OPS + target.__name__
    return _EDGE_OPS + target.__name__ if isinstance(target, EdgeOpOverload) else None


def _handle(node: Node) -> int | None:
    """The debug handle of a node; a fused node has the handle of the last operator in it."""
    handle = meta.get_debug_handle(node)
    if isinstance(handle, (list, tuple)):
        return int(handle[-1]) if handle else None
    return None if handle is None else int(handle)


def _prepare(node: Node) -> None:
    """Gives a node what torch's serializer can write."""
    if isinstance(node.target, EdgeOpOverload):
        node.target = node.target._op
    meta.drop_unwritable(node)


def _replace_constant(node: Node) -> None:
    """Computes a number that the body of control flow holds, since the schema has no constants of bodies."""
    value = _attribute(node)
    if not isinstance(value, torch.Tensor):
        return
    if value.unique().numel() != 1:
        raise DevtoolsError(
            f"an ETRecord cannot hold {node.name}, a constant tensor of shape {list(value.shape)} in the "
            "body of control flow; register it as a buffer of the model"
        )
    with node.graph.inserting_before(node):
        full = node.graph.call_function(
            torch.ops.aten.full.default,
            (list(value.shape), value.flatten()[0].item()),
            {"dtype": value.dtype},
        )
    meta.copy_all(node, full)
    node.replace_all_uses_with(full)
    node.graph.erase_node(node)


def _delegate_node(writer: serialize.GraphModuleSerializer, node: Node) -> schema.Node:
    """A delegate call: the lowered module as JSON text, then the arguments."""
    attribute = node.args[0]
    assert isinstance(attribute, Node)
    lowered = _attribute(attribute)
    assert isinstance(lowered, LoweredBackendModule)
    inputs = [
        schema.NamedArgument(
            name=str(attribute.target), arg=schema.Argument.create(as_string=json.dumps(_lowered(lowered)))
        )
    ]
    for index, argument in enumerate(node.args[1:]):
        inputs.append(
            schema.NamedArgument(name=f"delegate_arg_{index}", arg=writer.serialize_input(argument))
        )
    values = meta.get_val(node)
    names = {user.args[1]: user.name for user in node.users if user.target is operator.getitem}
    outputs = [
        writer.serialize_tensor_output(names.get(index, f"{node.name}_unused_{index}"), value)
        for index, value in enumerate(values)
    ]
    single = [schema.Argument.create(as_tensors=outputs)]
    several = [schema.Argument.create(as_tensor=output) for output in outputs]
    return schema.Node(
        name=node.name,
        target=_DELEGATE,
        inputs=inputs,
        outputs=single if len(outputs) == 1 else several,
        metadata=writer.serialize_metadata(node),
    )


def _lowered(lowered: LoweredBackendModule) -> JsonObject:
    original, custom = _to_json(lowered.original_module)
    store = lowered.named_data_store_output
    return {
        "backend_id": lowered.backend_id,
        "processed_bytes": _text(lowered.processed_bytes),
        "compile_specs": [
            {"key": spec.key, "value": _text(bytes(spec.value))} for spec in lowered.compile_specs
        ],
        "original_module": original,
        "original_state_dict": _text(_save(dict(lowered.original_module.state_dict))),
        "original_constants": _text(_save({**custom, **lowered.original_module.constants})),
        "named_data_store": None if store is None else json.dumps(_store(store)),
    }


def _store(store: NamedDataStoreOutput) -> JsonObject:
    def entries(table: dict[str, DataEntry]) -> JsonObject:
        return {key: _entry(entry) for key, entry in table.items()}

    return {
        "buffers": [_text(bytes(view)) for view in store.views],
        "pte_data": entries(store.pte_data),
        "external_data": {tag: entries(table) for tag, table in store.external_data.items()},
    }


def _entry(entry: DataEntry) -> JsonObject:
    data = asdict(entry)
    layout = entry.tensor_layout
    if layout is not None:
        data["tensor_layout"] = {
            "scalar_type": int(layout.scalar_type),
            "sizes": list(layout.sizes),
            "dim_order": list(layout.dim_order),
        }
    return data


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _reason(error: serialize.SerializeError) -> str:
    """The first line, which names the node, and the last, which is torch's reason."""
    lines = str(error).strip().splitlines()
    return lines[0][:400] if len(lines) == 1 else f"{lines[0][:400]}: {lines[-1][:200]}"


def _converted(value: object, change: Callable[[str, Any], object]) -> Any:
    """JSON in which `change(key, value)` gives the value of each key of schema's objects."""
    if isinstance(value, dict):
        if value.get("is_hop_single_tensor_return") is False and [*value["outputs"][0]] == ["as_tensor"]:
            value = {**value, "outputs": [{"as_tensors": [out["as_tensor"] for out in value["outputs"]]}]}
        return {
            key: change(key, _converted(item, change))
            for key, item in value.items()
            if not (key in _NEW_FIELDS and change is _older)
        }
    if isinstance(value, (list, tuple)):
        return [_converted(item, change) for item in value]
    return value


def _older(key: str, value: Any) -> Any:
    if key == "as_none":
        return []
    if key in ("dtype", "as_scalar_type"):
        return _DTYPES.get(value, value)
    return value


def _newer(key: str, value: Any) -> Any:
    if key == "as_none":
        return True
    if key in ("dtype", "as_scalar_type"):
        return _DTYPES_BACK.get(value, value)
    return value


# ---- Reading ----


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


def _from_json(
    data: JsonObject, state_dict: Any, constants: Any, example_inputs: Any = None
) -> ExportedProgram:
    version = data["schema_version"]
    if version["major"] != _VERSION["major"]:
        raise DevtoolsError(
            f"a program of the ETRecord has the schema version {version['major']}.{version['minor']}; "
            f"Rushlight reads {_VERSION['major']}.x, which ExecuTorch 1.x writes"
        )
    graph_module = _converted(data["graph_module"], _newer)
    calls = [_take_edge_facts(graph) for graph in _json_graphs(graph_module["graph"])]
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
    modules = list(_graph_modules(found.graph_module))
    for module, facts in zip(modules, calls, strict=True):
        for node, (target, call) in zip(_calls(module), facts, strict=True):
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


def _take_edge_facts(graph: JsonObject) -> list[tuple[Any, _Call]]:
    """The edge operator (or None) and facts of each call; leaves names that torch knows."""
    found: list[tuple[Any, _Call]] = []
    for node in graph["nodes"]:
        target = None
        name = None
        for prefix, dialect in ((_EDGE_OPS, "edge"), (_BACKEND_OPS, "backend")):
            if node["target"].startswith(prefix):
                name = node["target"].removeprefix(prefix)
                target = _operator(dialect, name)
                node["target"] = f"torch.ops.{name}"
        node["is_hop_single_tensor_return"] = True  # a tuple with one tensor is `as_tensors`
        if node["target"] == _DELEGATE:
            for argument in node["inputs"]:
                argument["kind"] = int(schema.ArgumentKind.POSITIONAL)
        handle = node["metadata"].pop("debug_handle", None)
        # Names of functions that torch would have to import are of no use here.
        node["metadata"].pop("source_fn_stack", None)
        results = json.loads(node["metadata"].pop(_RESULTS, "{}"))
        found.append((target, _Call(name, None if handle is None else int(handle), results)))
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
            _from_json(
                data["original_module"],
                _load(base64.b64decode(data["original_state_dict"]), name),
                _load(base64.b64decode(data["original_constants"]), name),
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
