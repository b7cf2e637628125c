"""Writes and reads allocations and memory views of planned programs, which torch's schema lacks."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from torch._export.serde import schema, serialize
from torch.fx import Node
from torch.fx.node import Argument, map_aggregate

from rushlight.devtools.errors import DevtoolsError
from rushlight.ir import memory_ops, meta
from rushlight.ir.json_types import JsonObject
from rushlight.ir.memory_ops import AllocSpec, TensorAllocSpec

ALLOC = "memory.alloc"
VIEW = "executorch.exir.memory.view"

_STAND_IN = "torch.ops.aten.empty.memory_format"
_LIST_STAND_IN = "torch.ops.aten._foreach_neg.default"
_SINGLE = "alloc_arg"
_LIST = "alloc_list"


def name_tensors(node: Node) -> None:
    """Inserts a getitem node for each tensor of an allocation of several tensors.

    Operators then write to a list of these nodes. The schema needs this, because it supports names of
    tensors, but not names of lists of tensors.

    Args:
        node: a call. Calls that are not allocations of several tensors are not changed.
    """
    if node.target is not memory_ops.alloc or not isinstance(node.args[0], list):
        return
    values = meta.get_val(node)
    items: dict[Any, Node] = {user.args[1]: user for user in node.users if user.target is operator.getitem}
    for index in reversed(range(len(node.args[0]))):
        if index in items:
            node.append(items[index])
            continue
        with node.graph.inserting_after(node):
            items[index] = node.graph.call_function(operator.getitem, (node, index))
        meta.set_val(items[index], values[index])
    parts: list[Argument] = [items[index] for index in range(len(items))]
    for user in list(node.users):
        if user not in parts:
            given: Any = (user.args, user.kwargs)
            user.args, user.kwargs = map_aggregate(given, lambda item: parts if item is node else item)


def alloc_entry(
    writer: serialize.GraphModuleSerializer, node: Node, dtypes: Mapping[int, int]
) -> schema.Node:
    """Returns the entry of an allocation, with an argument "shape;dtype" for each tensor.

    Args:
        writer: the serializer that creates the entries of the results.
        node: the call of `memory.alloc`, after `name_tensors`.
        dtypes: the dtype numbers of ExecuTorch by torch's numbers, if they differ.

    Raises:
        DevtoolsError: a size is symbolic.
    """
    spec: Any = node.args[0]
    inputs, outputs = [], []
    for shape, dtype in spec if isinstance(spec, list) else [spec]:
        if not all(type(size) is int for size in shape):
            raise DevtoolsError(
                f"an ETRecord file does not support {node.name}, an allocation with the symbolic sizes "
                f"{shape}"
            )
        number = int(serialize._TORCH_TO_SERIALIZE_DTYPE[dtype])
        text = schema.Argument.create(as_string=f"{tuple(shape)};{dtypes.get(number, number)}")
        inputs.append(schema.NamedArgument(name=_LIST if isinstance(spec, list) else _SINGLE, arg=text))
    if isinstance(spec, list):
        items = sorted((user for user in node.users if user.target is operator.getitem), key=_index)
        parts = [writer.serialize_tensor_output(item.name, meta.get_val(item)) for item in items]
        several = [schema.Argument.create(as_tensor=part) for part in parts]
        outputs = several if len(parts) > 1 else [schema.Argument.create(as_tensors=parts)]
    else:
        result = writer.serialize_tensor_output(node.name, meta.get_val(node))
        outputs = [schema.Argument.create(as_tensor=result)]
    return schema.Node(
        name=node.name,
        target=ALLOC,
        inputs=inputs,
        outputs=outputs,
        metadata=writer.serialize_metadata(node),
    )


def make_stand_in(entry: JsonObject, dtypes: Mapping[int, int]) -> AllocSpec:
    """Replaces the entry of an allocation by a call that torch can read. `restore_alloc` reverses this.

    Args:
        entry: the JSON of an allocation, which is changed in place.
        dtypes: the dtype numbers of torch by ExecuTorch's numbers, if they differ.

    Returns:
        The shape and dtype of the tensor; a list of these for an allocation of several tensors.

    Raises:
        DevtoolsError: the entry is damaged.
    """
    specs = [_spec(entry, named["arg"].get("as_string", ""), dtypes) for named in entry["inputs"]]
    if len(specs) == 1 and entry["inputs"][0].get("name") != _LIST:
        entry["target"] = _STAND_IN
        entry["inputs"] = [{"name": "size", "arg": {"as_ints": list(specs[0][0])}, "kind": 1}]
        return specs[0]
    entry["target"] = _LIST_STAND_IN
    entry["inputs"] = [{"name": "self", "arg": {"as_tensors": []}, "kind": 1}]
    return specs


def _spec(entry: JsonObject, text: str, dtypes: Mapping[int, int]) -> TensorAllocSpec:
    shape, _, dtype = text.partition(";")
    try:
        sizes = tuple(int(size) for size in shape.strip("()").split(",") if size.strip())
        number = int(dtype)
        return sizes, serialize._SERIALIZE_TO_TORCH_DTYPE[dtypes.get(number, number)]
    except (ValueError, KeyError):
        raise DevtoolsError(
            f"the allocation {entry.get('name')} of the ETRecord has the damaged entry {text!r}"
        ) from None


def make_view_stand_in(entry: JsonObject) -> None:
    """Replaces the entry of a memory view by a call with the same arguments that torch can read."""
    entry["target"] = "torch.ops.aten.view_copy.default"
    for named, name in zip(entry["inputs"], ("self", "size"), strict=True):
        named.update(name=name, kind=1)


def restore_alloc(node: Node, spec: AllocSpec) -> None:
    """Replaces a call that `make_stand_in` created by the original call of `memory.alloc`.

    Args:
        node: the call that torch read.
        spec: the result of `make_stand_in`.
    """
    node.target, node.args, node.kwargs = memory_ops.alloc, (spec,), {}
    if not isinstance(spec, list):
        return
    meta.set_val(node, list(meta.get_val(node)))
    items = sorted((user for user in node.users if user.target is operator.getitem), key=_index)
    for user in {user for item in items for user in item.users}:
        user.args = tuple(_node_for_list(value, items, node) for value in user.args)
        user.kwargs = {name: _node_for_list(value, items, node) for name, value in user.kwargs.items()}
    for item in items:
        if not item.users:
            node.graph.erase_node(item)


def _node_for_list(value: Any, items: list[Node], node: Node) -> Any:
    """Returns `node` if `value` is the list of all its tensors, else `value`."""
    is_all = isinstance(value, (list, tuple)) and list(value) == items
    return node if is_all else value


def _index(item: Node) -> int:
    index = item.args[1]
    assert isinstance(index, int)
    return index
