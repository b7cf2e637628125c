"""Writes an exported program as JSON in ExecuTorch's schema."""

from __future__ import annotations

import base64
import json
import math
import operator
from dataclasses import asdict

import torch
from torch._export.serde import schema, serialize
from torch.export import ExportedProgram
from torch.fx import Node

from rushlight.delegate.lowered import LoweredBackendModule
from rushlight.delegate.named_data import DataEntry, NamedDataStoreOutput
from rushlight.devtools.errors import DevtoolsError
from rushlight.devtools.etrecord.alloc_nodes import alloc_entry, name_tensors
from rushlight.devtools.etrecord.json_schema import (
    ARGUMENTS,
    BACKEND_OPS,
    DELEGATE,
    DTYPES,
    EDGE_OPS,
    RESULTS,
    VERSION,
    CallFacts,
    attribute,
    call_nodes,
    converted,
    graph_modules,
    json_graphs,
    root_signature,
    to_older,
)
from rushlight.devtools.etrecord.values import save_values
from rushlight.ir import memory_ops, meta
from rushlight.ir.control_flow import is_delegate_call
from rushlight.ir.edge_ops import BackendOpOverload, EdgeOpOverload
from rushlight.ir.json_types import JsonObject
from rushlight.ir.program import copy_program


def to_json(program: ExportedProgram) -> tuple[JsonObject, JsonObject]:
    """Returns the JSON of a program, and the objects of custom classes in its graph by name."""
    copied = copy_program(program)
    facts = _prepare_graphs(copied)
    writer = _graph_writer(copied)
    try:
        written = writer.serialize(copied.graph_module)
    except serialize.SerializeError as error:
        raise DevtoolsError(f"an ETRecord does not support the program: {_reason(error)}") from error
    # The names of union members have a special string class. The conversion to JSON and back makes them
    # plain strings.
    plain = json.loads(json.dumps(serialize._dataclass_to_dict(written), cls=serialize.EnumEncoder))
    graph_module = converted(plain, to_older)
    graph_module.pop("metadata", None)
    _add_facts(graph_module, facts)
    signature = root_signature(program.module_call_graph)
    nodes = graph_module["graph"]["nodes"]
    if signature is not None and signature.forward_arg_names and nodes:
        nodes[0]["metadata"][ARGUMENTS] = json.dumps(signature.forward_arg_names)
    data = {
        "graph_module": graph_module,
        "opset_version": {"aten": torch._C._get_max_operator_version()},
        "range_constraints": _ranges(program),
        "schema_version": dict(VERSION),
        "dialect": "",
        "verifiers": [verifier.dialect for verifier in program.verifiers],
    }
    return data, dict(writer.custom_objs)


def _graph_writer(program: ExportedProgram) -> serialize.GraphModuleSerializer:
    """Returns torch's serializer, which also writes delegates and allocations.

    Its methods are replaced, because torch does not permit subclasses of it.
    """
    writer = serialize.GraphModuleSerializer(program.graph_signature, program.module_call_graph)
    handle_call = writer.handle_call_function

    def handle_call_or_delegate(node: Node) -> None:
        if is_delegate_call(node):
            writer.graph_state.nodes.append(_delegate_node(writer, node))
        elif node.target is memory_ops.alloc:
            writer.graph_state.nodes.append(alloc_entry(writer, node, DTYPES))
        else:
            handle_call(node)

    handle_attribute = writer.handle_get_attr

    def handle_attribute_or_lowered(node: Node) -> None:
        if not isinstance(attribute(node), LoweredBackendModule):
            handle_attribute(node)  # type: ignore[no-untyped-call]

    writer.handle_call_function = handle_call_or_delegate  # type: ignore[method-assign]
    writer.handle_get_attr = handle_attribute_or_lowered  # type: ignore[method-assign]
    return writer


def _add_facts(graph_module: JsonObject, facts: list[list[CallFacts]]) -> None:
    """Adds the facts that the serializer does not write to the calls of each graph."""
    for graph_facts, graph in zip(facts, json_graphs(graph_module["graph"]), strict=True):
        for node, call in zip(graph["nodes"], graph_facts, strict=True):
            node["target"] = call.name or node["target"]
            if call.handle is not None:
                node["metadata"]["debug_handle"] = str(call.handle)
            if call.results:
                node["metadata"][RESULTS] = json.dumps(call.results)


def _prepare_graphs(program: ExportedProgram) -> list[list[CallFacts]]:
    """Changes the graphs so that torch's serializer can write them.

    Returns:
        For each call of each graph, the facts that the serializer does not write.
    """
    for module in list(graph_modules(program.graph_module))[1:]:
        for node in module.graph.find_nodes(op="get_attr"):
            _replace_constant(node)
    facts = [[_facts(node) for node in call_nodes(m)] for m in graph_modules(program.graph_module)]
    for module in graph_modules(program.graph_module):
        for node in module.graph.nodes:
            _prepare(node)
        for node in call_nodes(module):
            name_tensors(node)
    return facts


def _ranges(program: ExportedProgram) -> JsonObject:
    """Returns the range of each symbol; a missing bound is infinite."""
    ranges = serialize.serialize_range_constraints(program.range_constraints)
    return {
        name: {
            "min_val": -math.inf if found.min_val is None else found.min_val,
            "max_val": math.inf if found.max_val is None else found.max_val,
        }
        for name, found in ranges.items()
    }


def _facts(node: Node) -> CallFacts:
    items = [user for user in node.users if user.target is operator.getitem]
    handles = {str(item.args[1]): _handle(item) for item in items}
    results = {index: handle for index, handle in handles.items() if handle is not None}
    return CallFacts(_edge_name(node.target), _handle(node), results)


def _edge_name(target: object) -> str | None:
    if isinstance(target, BackendOpOverload):
        return BACKEND_OPS + target.__name__
    return EDGE_OPS + target.__name__ if isinstance(target, EdgeOpOverload) else None


def _handle(node: Node) -> int | None:
    """Returns the debug handle of a node. For a fused node, this is the handle of its last operator."""
    handle = meta.get_debug_handle(node)
    if isinstance(handle, (list, tuple)):
        return int(handle[-1]) if handle else None
    return None if handle is None else int(handle)


def _prepare(node: Node) -> None:
    """Converts or removes the properties of a node that torch's serializer cannot write."""
    if isinstance(node.target, EdgeOpOverload):
        node.target = node.target._op
    meta.drop_unwritable(node)


def _replace_constant(node: Node) -> None:
    """Replaces a constant in a control flow body by a call of `full`; bodies cannot have constants."""
    value = attribute(node)
    if not isinstance(value, torch.Tensor):
        return
    if value.unique().numel() != 1:
        raise DevtoolsError(
            f"an ETRecord does not support {node.name}, a constant tensor of shape {list(value.shape)} in a "
            "control flow body; register it as a buffer of the model"
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
    """Returns the entry of a delegate call. Its arguments are the lowered module as JSON, then the inputs."""
    source = node.args[0]
    assert isinstance(source, Node)
    lowered = attribute(source)
    assert isinstance(lowered, LoweredBackendModule)
    inputs = [
        schema.NamedArgument(
            name=str(source.target), arg=schema.Argument.create(as_string=json.dumps(_lowered(lowered)))
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
        target=DELEGATE,
        inputs=inputs,
        outputs=single if len(outputs) == 1 else several,
        metadata=writer.serialize_metadata(node),
    )


def _lowered(lowered: LoweredBackendModule) -> JsonObject:
    original, custom = to_json(lowered.original_module)
    store = lowered.named_data_store_output
    return {
        "backend_id": lowered.backend_id,
        "processed_bytes": _text(lowered.processed_bytes),
        "compile_specs": [
            {"key": spec.key, "value": _text(bytes(spec.value))} for spec in lowered.compile_specs
        ],
        "original_module": original,
        "original_state_dict": _text(save_values(dict(lowered.original_module.state_dict))),
        "original_constants": _text(save_values({**custom, **lowered.original_module.constants})),
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
    """Returns the first line of an error, which names the node, and the last line, which is the reason."""
    lines = str(error).strip().splitlines()
    return lines[0][:400] if len(lines) == 1 else f"{lines[0][:400]}: {lines[-1][:200]}"
