"""Reads exported programs from JSON in ExecuTorch's schema."""

from __future__ import annotations

import base64
import json
import math
import operator
from typing import Any

from torch._export.serde import schema, serialize
from torch._export.verifier import Verifier, load_verifier
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges

from rushlight.delegate.backend import CompileSpec
from rushlight.delegate.lowered import LoweredBackendModule
from rushlight.delegate.named_data import DataEntry, NamedDataStoreOutput
from rushlight.devtools.errors import DevtoolsError
from rushlight.devtools.etrecord.alloc_nodes import (
    ALLOC,
    VIEW,
    make_stand_in,
    make_view_stand_in,
    restore_alloc,
)
from rushlight.devtools.etrecord.json_schema import (
    ARGUMENTS,
    BACKEND_OPS,
    DELEGATE,
    DTYPES_BACK,
    EDGE_OPS,
    RESULTS,
    VERSION,
    CallFacts,
    call_nodes,
    converted,
    graph_modules,
    json_graphs,
    root_signature,
    to_newer,
)
from rushlight.devtools.etrecord.schema_reader import reader_of, restore_symbols
from rushlight.devtools.etrecord.values import load_values
from rushlight.format.flat_tensor import TensorLayout
from rushlight.format.program import ScalarType
from rushlight.ir import memory_ops, meta
from rushlight.ir.control_flow import is_delegate_call
from rushlight.ir.edge_ops import aten_op, ops
from rushlight.ir.json_types import JsonObject
from rushlight.ir.program import program_around
from rushlight.ir.verifier import EDGE, edge_verifier


def from_json(
    data: JsonObject, state_dict: Any, constants: Any, example_inputs: Any = None
) -> ExportedProgram:
    """Creates a program from its JSON.

    Args:
        data: the JSON of the graph and its signature.
        state_dict, constants, example_inputs: the contents of the other files of the program.

    Raises:
        DevtoolsError: the JSON has another schema version, or calls unknown operators.
    """
    version = data["schema_version"]
    if version["major"] != VERSION["major"]:
        raise DevtoolsError(
            f"a program of the ETRecord has the schema version {version['major']}.{version['minor']}; "
            f"Rushlight reads {VERSION['major']}.x, which ExecuTorch 1.x writes"
        )
    graph_module = converted(data["graph_module"], to_newer)
    argument_names = _take_argument_names(graph_module)
    calls = [_take_edge_facts(graph) for graph in json_graphs(graph_module["graph"])]
    ranges = {
        name: ValueRanges(_bound(found["min_val"], -int_oo), _bound(found["max_val"], int_oo))
        for name, found in data["range_constraints"].items()
    }
    restore_symbols(graph_module, ranges)
    found = _deserializer().deserialize(
        reader_of(schema.GraphModule)(graph_module),
        state_dict,
        constants,
        example_inputs,
        ranges,
    )
    modules = list(graph_modules(found.graph_module))
    for module, facts in zip(modules, calls, strict=True):
        for node, (target, call) in zip(call_nodes(module), facts, strict=True):
            _restore_call(node, target, call)
        _restore_lowered(module)
        _erase_unused_results(module)
        module.recompile()
    signature = root_signature(found.module_call_graph)
    if signature is not None and argument_names is not None:
        signature.forward_arg_names = argument_names
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


def _deserializer() -> serialize.GraphModuleDeserializer:
    """Returns torch's deserializer, which here also reads texts that a program returns."""
    found = serialize.GraphModuleDeserializer()
    other = found.deserialize_graph_output

    def output_of(output: schema.Argument) -> Any:
        return output.as_string if output.type == "as_string" else other(output)

    found.deserialize_graph_output = output_of  # type: ignore[method-assign]
    return found


def _restore_call(node: Node, target: Any, call: CallFacts) -> None:
    """Gives a node the operator of the edge dialect, the spec and the debug handles that its call had."""
    if call.spec is not None:
        restore_alloc(node, call.spec)
    elif target is not None:
        node.target = target
    if call.handle is not None:
        meta.set_debug_handle(node, call.handle)
    for user in node.users:
        if user.target is operator.getitem and str(user.args[1]) in call.results:
            meta.set_debug_handle(user, call.results[str(user.args[1])])
    _convert_to_positional(node)


def _erase_unused_results(module: GraphModule) -> None:
    """Erases the getitem nodes of results without users, for which the schema has names, too."""
    for node in reversed(module.graph.find_nodes(op="call_function", target=operator.getitem)):
        if not node.users and "_unused_" in node.name:
            module.graph.erase_node(node)


def _verifier(dialect: str) -> type[Verifier]:
    return edge_verifier(enabled=False) if dialect == EDGE else load_verifier(dialect)


def _convert_to_positional(node: Node) -> None:
    """Converts keyword arguments to positional arguments if possible, as in exported programs."""
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


def _take_argument_names(graph_module: JsonObject) -> list[str] | None:
    """Removes the names of the program's arguments from the JSON and returns them; None if there are none."""
    nodes = graph_module["graph"]["nodes"]
    text = nodes[0]["metadata"].pop(ARGUMENTS, None) if nodes else None
    return None if text is None else [str(name) for name in json.loads(text)]


def _take_edge_facts(graph: JsonObject) -> list[tuple[Any, CallFacts]]:
    """Removes the properties that torch cannot read from the calls of a graph.

    Args:
        graph: the JSON of a graph, which is changed in place.

    Returns:
        The edge operator, or None, and the removed properties of each call.
    """
    found: list[tuple[Any, CallFacts]] = []
    for node in graph["nodes"]:
        target: Any = None
        name = spec = None
        if node["target"] == ALLOC:
            spec = make_stand_in(node, DTYPES_BACK)
        elif node["target"] == VIEW:
            make_view_stand_in(node)
            target = memory_ops.view
        for prefix, dialect in ((EDGE_OPS, "edge"), (BACKEND_OPS, "backend")):
            if node["target"].startswith(prefix):
                name = node["target"].removeprefix(prefix)
                target = _operator(dialect, name)
                node["target"] = f"torch.ops.{name}"
        node["is_hop_single_tensor_return"] = True  # a tuple of one tensor is `as_tensors` instead
        if node["target"] == DELEGATE:
            for argument in node["inputs"]:
                argument["kind"] = int(schema.ArgumentKind.POSITIONAL)
        handle = node["metadata"].pop("debug_handle", None)
        # These names of functions are not needed, and torch would have to import the functions.
        node["metadata"].pop("source_fn_stack", None)
        results = json.loads(node["metadata"].pop(RESULTS, "{}"))
        found.append((target, CallFacts(name, None if handle is None else int(handle), results, spec)))
    return found


def _operator(dialect: str, name: str) -> Any:
    value = getattr(ops, dialect)
    try:
        for part in name.split("."):
            value = getattr(value, part)
    except (AttributeError, RuntimeError) as error:
        raise DevtoolsError(
            f"the ETRecord calls the operator {name}, which is not registered in this process; import the "
            "module that registers it (on the command line: --import FILE.py)"
        ) from error
    return value


def _restore_lowered(module: GraphModule) -> None:
    """Replaces the JSON texts in the delegate calls of a graph by lowered modules."""
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
