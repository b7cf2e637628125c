"""Helpers of passes that move and remove permutes: arguments by name, dimensions, and base classes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import Argument
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.edge_ops import EdgeOpOverload, EdgeOpOverloadPacket, aten_op, is_op, ops
from rushlight.passes.base import GraphPass

aten = torch.ops.aten


def get_edge_overload_packet(edge_op: EdgeOpOverload) -> EdgeOpOverloadPacket:
    """Returns the packet of an edge operator, which has all its overloads."""
    namespace, name = edge_op._schema.name.split("::")
    packet: EdgeOpOverloadPacket = getattr(getattr(ops.edge, namespace), name)
    return packet


def get_shape(graph_module: GraphModule, node: object) -> torch.Size | None:
    """Returns the shape of a node's tensor or of an attribute, [1] for a number, None for anything else."""
    if isinstance(node, (float, int, bool)):
        return torch.Size([1])
    if not isinstance(node, Node):
        return None
    tensor = meta.get_tensor(node)
    if tensor is None and node.op == "get_attr":
        tensor = getattr(graph_module, str(node.target), None)
    return None if tensor is None else tensor.shape


def get_transposed_dims(node: Node, dims: Sequence[int]) -> list[int]:
    """Returns dimensions in the order that a transpose gives them."""
    assert is_op(node, aten.transpose_copy.int), f"{node.name} is no transpose"
    changed = list(dims)
    first, second = (int(axis) % len(changed) for axis in node.args[1:3])  # type: ignore[arg-type]
    changed[first], changed[second] = changed[second], changed[first]
    return changed


def get_permuted_dims(node: Node, dims: Sequence[int]) -> list[int]:
    """Returns dimensions in the order that a permute gives them."""
    assert is_op(node, aten.permute_copy.default), f"{node.name} is no permute"
    return [dims[int(axis)] for axis in node.args[1]]  # type: ignore[union-attr, arg-type]


def _place(node: Node, name: str) -> int:
    op = aten_op(node.target)
    if op is None:
        raise RuntimeError(f"{node.name} calls no operator, so that its arguments have no names")
    names = [declared.name for declared in op._schema.arguments]
    if name not in names:
        raise ValueError(f"{op} has no argument {name!r}; it has {', '.join(names)}")
    return names.index(name)


def get_arg(node: Node, kwarg_name: str, expected_type: Any = Argument) -> Any:
    """Returns an argument of an operator's node by its name, its default if it is not given.

    Args:
        node: a call of an operator.
        kwarg_name: the name of the argument in the operator's schema.
        expected_type: the type of the value; it is not checked for generic types.

    Raises:
        TypeError: the value has another type.
        ValueError: the operator has no such argument.
    """
    place = _place(node, kwarg_name)
    op = aten_op(node.target)
    assert op is not None
    declared = op._schema.arguments[place]
    if kwarg_name in node.kwargs:
        value: Any = node.kwargs[kwarg_name]
    elif place < len(node.args):
        value = node.args[place]
    else:
        value = declared.default_value if declared.has_default_value() else None
    if isinstance(expected_type, type) and not isinstance(value, expected_type):
        raise TypeError(
            f"{kwarg_name} of {node.name} is {type(value).__name__}, not {expected_type.__name__}"
        )
    return value


def set_arg(node: Node, kwarg_name: str, value: Argument) -> None:
    """Sets an argument of an operator's node by its name.

    Raises:
        ValueError: the operator has no such argument.
    """
    place = _place(node, kwarg_name)
    if kwarg_name not in node.kwargs and place < len(node.args):
        node.update_arg(place, value)
    else:
        node.update_kwarg(kwarg_name, value)


class HierarchicalInplacePass(GraphPass):
    """A pass over a graph module and the bodies of its control flow; a subclass rewrites one of them."""

    @abstractmethod
    def _apply_flat_inplace(self, graph_module: GraphModule) -> bool:
        """Rewrites one graph module; says whether it changed."""

    @override
    def rewrite(self, module: GraphModule) -> bool:
        return self._apply_flat_inplace(module)


class RemoveOrReplacePass(HierarchicalInplacePass):
    """A pass that looks at each call of some operators; a subclass removes or replaces them."""

    @property
    @abstractmethod
    def targets(self) -> list[EdgeOpOverload]:
        """The operators."""

    @abstractmethod
    def maybe_remove_or_replace(self, node: Node) -> bool:
        """Removes or replaces a call; says whether it did."""

    @override
    def _apply_flat_inplace(self, graph_module: GraphModule) -> bool:
        changed = False
        for target in self.targets:
            for node in graph_module.graph.find_nodes(op="call_function", target=target):
                if node.users:
                    changed |= self.maybe_remove_or_replace(node)
        return changed
