"""Writes and reads allocations and views of planned programs, which torch's schema does not support."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch._export.serde import schema, serialize
from torch.fx import Node

from rushlight.devtools.errors import DevtoolsError
from rushlight.ir import meta
from rushlight.ir.json_types import JsonObject

ALLOC = "memory.alloc"
VIEW = "executorch.exir.memory.view"

_STAND_IN = "torch.ops.aten.empty.memory_format"


def alloc_entry(
    writer: serialize.GraphModuleSerializer, node: Node, dtypes: Mapping[int, int]
) -> schema.Node:
    """Returns the entry of an allocation of one tensor: "shape;dtype".

    Args:
        writer: makes the entry of the result.
        node: the call of `memory.alloc`.
        dtypes: maps torch's dtype numbers to ExecuTorch's, where they differ.

    Raises:
        DevtoolsError: several tensors are allocated, or a size is symbolic.
    """
    (spec,) = node.args
    shape, dtype = spec if isinstance(spec, tuple) and len(spec) == 2 else (None, None)
    if not isinstance(shape, tuple) or not isinstance(dtype, torch.dtype):
        raise DevtoolsError(f"a file cannot hold {node.name}, an allocation of several tensors: {spec}")
    if not all(type(size) is int for size in shape):
        raise DevtoolsError(f"a file cannot hold {node.name}, an allocation with the symbolic sizes {shape}")
    number = int(serialize._TORCH_TO_SERIALIZE_DTYPE[dtype])
    text = f"{tuple(shape)};{dtypes.get(number, number)}"
    argument = schema.NamedArgument(name="alloc_arg", arg=schema.Argument.create(as_string=text))
    result = writer.serialize_tensor_output(node.name, meta.get_val(node))
    return schema.Node(
        name=node.name,
        target=ALLOC,
        inputs=[argument],
        outputs=[schema.Argument.create(as_tensor=result)],
        metadata=writer.serialize_metadata(node),
    )


def make_stand_in(entry: JsonObject, dtypes: Mapping[int, int]) -> None:
    """Replaces the entry of an allocation by a call that torch can read; `restore_alloc` reverses this.

    Args:
        entry: the JSON of an allocation.
        dtypes: maps ExecuTorch's dtype numbers to torch's, where they differ.

    Raises:
        DevtoolsError: the entry is damaged, or allocates several tensors.
    """
    texts = [named["arg"].get("as_string", "") for named in entry["inputs"]]
    shape, _, dtype = texts[0].partition(";") if len(texts) == 1 else ("", "", "")
    try:
        sizes = [int(size) for size in shape.strip("()").split(",") if size.strip()]
        number = int(dtype)
    except ValueError:
        raise DevtoolsError(
            f"the allocation {entry.get('name')} of the file is not readable: {texts}"
        ) from None
    entry["target"] = _STAND_IN
    entry["inputs"] = [
        {"name": "size", "arg": {"as_ints": sizes}, "kind": 1},
        {"name": "dtype", "arg": {"as_scalar_type": dtypes.get(number, number)}, "kind": 2},
    ]


def make_view_stand_in(entry: JsonObject) -> None:
    """Replaces the entry of a memory view by a call with the same arguments that torch can read."""
    entry["target"] = "torch.ops.aten.view_copy.default"
    for named, name in zip(entry["inputs"], ("self", "size"), strict=True):
        named.update(name=name, kind=1)


def restore_alloc(node: Node) -> None:
    """Restores the arguments of an allocation that `make_stand_in` replaced."""
    sizes = node.args[0]
    assert isinstance(sizes, (list, tuple))
    node.args, node.kwargs = ((tuple(sizes), node.kwargs["dtype"]),), {}
