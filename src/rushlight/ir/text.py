"""Formats graphs and programs as text: shapes, dtypes, planned memory, and source lines of the user."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import IntEnum
from typing import Any, TextIO

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import map_aggregate

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


def pretty_print(obj: object, indent: int = 0, out: TextIO | None = None) -> None:
    """Prints a program, or a part of a program, field by field.

    Raises:
        TypeError: `obj` is a graph module.
    """
    if isinstance(obj, GraphModule):
        raise TypeError(
            "pretty_print() supports parts of a program, not a graph module; print its graph instead"
        )
    print("\n".join(_pretty(obj, indent)), file=out if out is not None else sys.stdout)


def _pretty(obj: object, indent: int) -> Iterator[str]:
    pad = " " * indent
    if isinstance(obj, IntEnum):
        yield f"{pad}{int(obj)}"
    elif is_dataclass(obj) and not isinstance(obj, type):
        yield f"{pad}{type(obj).__name__}("
        for field in fields(obj):
            value = getattr(obj, field.name)
            inner = list(_pretty(value, indent + 2))
            first = inner[0].lstrip() if inner else "None"
            yield f"{pad}  {field.name}={first}"
            yield from inner[1:]
        yield f"{pad})"
    elif isinstance(obj, (list, tuple)) and any(is_dataclass(item) for item in obj):
        yield f"{pad}["
        for index, item in enumerate(obj):
            inner = list(_pretty(item, indent + 2))
            yield f"{pad}  (index={index}) {inner[0].lstrip()}"
            yield from inner[1:]
        yield f"{pad}]"
    elif isinstance(obj, (bytes, bytearray, memoryview)):
        yield f"{pad}{len(obj)} bytes"
    else:
        yield f"{pad}{obj!r}"


def print_program(
    program: Any,
    show_meminfo: bool = True,
    mark_dynamic_shape_tensor: bool = False,
    out: TextIO | None = None,
) -> None:
    """Prints the instructions of a program, each with its operator and the values that it reads and writes.

    A tensor is shown as T, or CT for a constant, followed by `m<memory>.<offset>`, sizes and scalar type.
    With `mark_dynamic_shape_tensor`, UBT is a tensor with a bounded dynamic shape, and DUT is a tensor with
    an unbounded dynamic shape. Other values are shown as a letter for their type.
    """
    out = out if out is not None else sys.stdout
    for plan in program.execution_plan:
        for chain in plan.chains:
            for number, instruction in enumerate(chain.instructions):
                arguments = instruction.instr_args
                text = _instruction_text(plan, arguments, show_meminfo, mark_dynamic_shape_tensor)
                print(f"{number:3}: {text}", file=out)


def _instruction_text(plan: Any, instruction: Any, show_meminfo: bool, mark_dynamic: bool) -> str:
    def values(indices: Any) -> str:
        texts = (_evalue(plan.values[i].val, show_meminfo, mark_dynamic) for i in indices)
        return ", ".join(f"%{i}:{text}" for i, text in zip(indices, texts, strict=True))

    kind = type(instruction).__name__
    if kind == "KernelCall":
        return f"CALL {plan.operators[instruction.op_index].full_name}({values(instruction.args)})"
    if kind == "DelegateCall":
        return f"DELEGATE {plan.delegates[instruction.delegate_index].id}({values(instruction.args)})"
    if kind == "JumpFalseCall":
        return (
            f"JUMP TO {instruction.destination_instruction} IF NOT {values([instruction.cond_value_index])}"
        )
    if kind == "MoveCall":
        return f"MOVE {values([instruction.move_from])} TO {values([instruction.move_to])}"
    if kind == "FreeCall":
        return f"FREE {values([instruction.value_index])}"
    raise TypeError(f"unknown instruction {kind}")


def _evalue(value: Any, show_meminfo: bool, mark_dynamic: bool) -> str:
    kind = type(value).__name__
    if kind != "Tensor":
        return f"{kind}{_scalar_fields(value)}"
    text = ""
    if value.data_buffer_idx > 0 and value.allocation_info is None:
        text += "C"
    elif mark_dynamic:
        text += ("", "UB", "DU")[int(value.shape_dynamism)]
    text += "T"
    place = value.allocation_info
    if show_meminfo and not text.startswith("C"):
        offset = None if place is None else place.memory_offset_low + (place.memory_offset_high << 32)
        text += "m." if place is None else f"m{place.memory_id}.{offset}"
    return f"{text}{list(value.sizes)}{value.scalar_type.name.lower()}"


def _scalar_fields(value: object) -> str:
    if not is_dataclass(value):
        return ""
    inside = map_aggregate(tuple(getattr(value, field.name) for field in fields(value)), lambda item: item)
    return str(inside[0] if len(inside) == 1 else inside) if inside else ""
