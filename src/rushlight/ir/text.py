"""Formats graphs as text: shapes, dtypes, planned memory, and source lines of the user."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.fx import Graph, GraphModule, Node

from rushlight.ir import meta
from rushlight.ir.spec import TensorSpec

DTYPE_NAMES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int16: "i16",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.bool: "bool",
}


def format_graph(graph_module: GraphModule) -> str:
    """Formats one line for each node: name, value, call, and source line of the model.

    In a planned graph, each value has `@memory+offset`. Control flow bodies are indented.
    """
    return "\n".join(_lines(graph_module, "")) + "\n"


def _lines(module: GraphModule, indent: str) -> Iterator[str]:
    for node in module.graph.nodes:
        source = meta.source_of(node)
        line = indent + _node_text(node)
        yield f"{line}  # {source}" if source is not None else line
    for name, child in module.named_children():
        if isinstance(child, GraphModule):
            yield f"{indent}{name}:"
            yield from _lines(child, indent + "    ")


def _node_text(node: Node) -> str:
    if node.op == "output":
        return f"return {_argument(node.args[0])}"
    head = f"%{node.name}: {_value_text(node)}"
    if node.op in ("placeholder", "get_attr"):
        return f"{head} = {'input' if node.op == 'placeholder' else 'attribute'} {node.target}"
    name = str(getattr(node.target, "__name__", node.target))
    arguments = [_argument(arg) for arg in node.args]
    arguments += [f"{key}={_argument(value)}" for key, value in node.kwargs.items()]
    return f"{head} = {name}({', '.join(arguments)})"


def _argument(value: object) -> str:
    if isinstance(value, Node):
        return f"%{value.name}"
    if isinstance(value, (list, tuple)):
        inside = ", ".join(_argument(item) for item in value)
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    return str(value)


def _value_text(node: Node) -> str:
    spec = meta.get_spec(node)
    value = spec if meta.tensor_specs(node) else node.meta.get(meta.VAL)
    if isinstance(value, (list, tuple)):
        return f"({', '.join(_one_value(item) for item in value)})"
    return _one_value(value)


def _one_value(value: object) -> str:
    if not isinstance(value, (torch.Tensor, TensorSpec)):
        return (
            "none"
            if value is None
            else type(value).__name__
            if isinstance(value, torch.SymInt)
            else str(value)
        )
    shape = ", ".join(str(size) for size in value.shape)
    text = f"{DTYPE_NAMES.get(value.dtype, str(value.dtype).removeprefix('torch.'))}[{shape}]"
    if isinstance(value, TensorSpec):
        if tuple(value.dim_order) != tuple(range(len(value.shape))):
            text += f" order {list(value.dim_order)}"
        if value.mem_id is not None:
            text += f" @{value.mem_id}+{value.mem_offset}"
    return text


def add_cursor_to_graph(graph: Graph, finding_node: Node) -> str:
    """Returns the text of a graph with an arrow at a node."""
    lines = ["graph():"]
    for node in graph.nodes:
        text = node.format_node()
        if text is not None:
            lines.append(f"{'--> ' if node is finding_node else '    '}{text}")
    return "\n".join(lines)


def inspect_node(graph: Graph, node: Node) -> str:
    """Formats a node within its graph, with the stack trace of the Python code that created the node."""
    trace = meta.get_stack_trace(node) or "no stack trace"
    return (
        f"The arrow is at {node.name}:\n{add_cursor_to_graph(graph, node)}\n"
        f"Stack trace of {node.name} (most recent call last):\n{trace}\n"
    )
