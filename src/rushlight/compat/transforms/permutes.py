"""Helper functions and base classes of passes that move and remove permutes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import Argument
from torch.fx.passes.infra.pass_base import PassBase
from typing_extensions import override

from rushlight.compat.transforms.channels_last import is_permute_copy
from rushlight.compat.transforms.dim_maps import normalized_axes, normalized_permutation
from rushlight.compat.transforms.rewriting import InPlacePass
from rushlight.ir import meta
from rushlight.ir.edge_ops import EdgeOpOverload, EdgeOpOverloadPacket, aten_op, is_op, ops

aten = torch.ops.aten

VIEWS = (aten.view_copy.default, aten.view.default)
"""The operators that change the shape of a tensor."""


def get_edge_overload_packet(edge_op: EdgeOpOverload) -> EdgeOpOverloadPacket:
    """Returns the packet of an edge operator, which has all its overloads."""
    namespace, name = edge_op._schema.name.split("::")
    packet: EdgeOpOverloadPacket = getattr(getattr(ops.edge, namespace), name)
    return packet


def get_shape(graph_module: GraphModule, node: object) -> torch.Size | None:
    """Returns the shape of a node's tensor or of an attribute, [1] for a number, None for other values."""
    if isinstance(node, (float, int, bool)):
        return torch.Size([1])
    if not isinstance(node, Node):
        return None
    tensor = meta.get_tensor(node)
    if tensor is None and node.op == "get_attr":
        tensor = getattr(graph_module, str(node.target), None)
    return None if tensor is None else tensor.shape


def get_transposed_dims(node: Node, dims: Sequence[int] | None = None) -> list[int]:
    """Returns the dimensions `dims`, which are required, in the order after a transpose."""
    assert is_op(node, aten.transpose_copy.int), f"{node.name} is not a transpose"
    assert dims is not None, "get_transposed_dims needs the dimensions"
    changed = list(dims)
    first, second = (int(axis) % len(changed) for axis in node.args[1:3])  # type: ignore[arg-type]
    changed[first], changed[second] = changed[second], changed[first]
    return changed


def get_permuted_dims(node: Node, dims: Sequence[int]) -> list[int]:
    """Returns the dimensions `dims` in the order after a permute."""
    assert is_permute_copy(node), f"{node.name} is not a permute"
    return [dims[int(axis)] for axis in get_arg(node, "dims")]


def permutation_of(node: object) -> list[int] | None:
    """Returns the permutation of a permute or transpose; None for other nodes."""
    if not isinstance(node, Node):
        return None
    if is_permute_copy(node):
        return normalized_permutation(get_arg(node, "dims"))
    if not is_op(node, aten.transpose_copy.int):
        return None
    order = list(range(len(meta.get_shape(node))))
    pair = normalized_axes([get_arg(node, "dim0"), get_arg(node, "dim1")], len(order))
    if pair is None:
        return None
    order[pair[0]], order[pair[1]] = pair[1], pair[0]
    return order


def source_of(node: Node) -> Node:
    """Returns the input tensor of a permute, transpose or view."""
    source: Node = get_arg(node, "input", Node)
    return source


def _argument_index(node: Node, name: str) -> int:
    op = aten_op(node.target)
    if op is None:
        raise RuntimeError(f"{node.name} does not call an operator, so that its arguments have no names")
    names = [declared.name for declared in op._schema.arguments]
    if name == "input" and name not in names:
        name = "self"  # The schema may have this name for the input.
    if name not in names:
        raise ValueError(f"{op} has no argument {name!r}; it has {', '.join(names)}")
    return names.index(name)


def get_arg(node: Node, kwarg_name: str, expected_type: Any = Argument) -> Any:
    """Returns an argument of a call by its name, or the default value if the argument is omitted.

    Args:
        node: a call of an operator.
        kwarg_name: the name of the argument in the operator's schema.
        expected_type: the type of the value. Generic types are not checked.

    Raises:
        TypeError: the value has another type.
        ValueError: the operator does not have the argument.
    """
    place = _argument_index(node, kwarg_name)
    op = aten_op(node.target)
    assert op is not None
    declared = op._schema.arguments[place]
    if kwarg_name in node.kwargs:
        value: Any = node.kwargs[kwarg_name]
    elif declared.name in node.kwargs:
        value = node.kwargs[declared.name]
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
    """Sets an argument of a call by its name.

    Raises:
        ValueError: the operator does not have the argument.
    """
    place = _argument_index(node, kwarg_name)
    if kwarg_name not in node.kwargs and place < len(node.args):
        node.update_arg(place, value)
    else:
        node.update_kwarg(kwarg_name, value)


class HierarchicalInplacePass(InPlacePass):
    """The base class of passes over a graph module and the bodies of its control flow.

    A subclass implements the rewrite of one graph module.
    """

    @abstractmethod
    def _apply_flat_inplace(self, graph_module: GraphModule) -> bool:
        """Rewrites one graph module. Returns whether it changed."""

    @override
    def rewrite(self, module: GraphModule) -> bool:
        return self._apply_flat_inplace(module)


class RemoveOrReplacePass(HierarchicalInplacePass):
    """The base class of passes that remove or replace calls of the operators in `targets`."""

    @property
    @abstractmethod
    def targets(self) -> list[EdgeOpOverload]:
        """The operators."""

    @abstractmethod
    def maybe_remove_or_replace(self, node: Node) -> bool:
        """Removes or replaces a call. Returns whether the graph changed."""

    @override
    def _apply_flat_inplace(self, graph_module: GraphModule) -> bool:
        changed = False
        for target in self.targets:
            for node in graph_module.graph.find_nodes(op="call_function", target=target):
                if node.users and node.target is target:
                    changed |= self.maybe_remove_or_replace(node)
        return changed


class FuseOpPairsAcrossBranchesPass(PassBase):
    """Removes an operator together with inverse operators behind it, also across branches of the graph.

    A subclass calls `find_and_fuse`, and overrides the methods that decide which operators are removed.
    """

    def check_ok_to_fuse(self, producer: Node, consumers: list[Node]) -> bool:
        """Returns whether an operator and its inverse operators may be removed."""
        return True

    def can_fuse_for_chain(
        self, producer: Node, consumer: Node, consumer_op_packets: set[EdgeOpOverloadPacket]
    ) -> bool:
        """Returns whether a node is an inverse of the operator. By default, only its packet is checked."""
        return _is_of(consumer, consumer_op_packets)

    def get_fuse_candidates(
        self,
        producer: Node,
        consumer_op_packets: set[EdgeOpOverloadPacket],
        bypass_ops: Collection[EdgeOpOverload],
    ) -> list[Node]:
        """Returns the inverse operators behind an operator; an empty list if there are other users.

        Args:
            producer: the operator.
            consumer_op_packets: the packets of possible inverse operators.
            bypass_ops: operators that may be between the two.
        """
        found: dict[Node, None] = {}
        waiting = list(producer.users)
        for node in waiting:
            if node.target in bypass_ops:
                waiting.extend(node.users)
            elif self.can_fuse_for_chain(producer, node, consumer_op_packets):
                found[node] = None
            else:
                return []
        return list(found)

    def find_and_fuse(
        self,
        graph_module: GraphModule,
        producer_op_packets: set[EdgeOpOverloadPacket],
        consumer_op_packets: set[EdgeOpOverloadPacket],
        bypass_ops: Collection[EdgeOpOverload],
    ) -> bool:
        """Removes operators and their inverse operators from one graph.

        Args:
            graph_module: the graph module, which is changed.
            producer_op_packets: the packets of the operators to remove.
            consumer_op_packets: the packets of possible inverse operators.
            bypass_ops: operators that may be between the two.

        Returns:
            Whether operators were removed.
        """
        changed = False
        for node in list(graph_module.graph.nodes):
            if not node.users or not _is_of(node, producer_op_packets):
                continue
            consumers = self.get_fuse_candidates(node, consumer_op_packets, bypass_ops)
            if consumers and self.check_ok_to_fuse(node, consumers):
                self.fuse(node, consumers, graph_module)
                changed = True
        if changed:
            graph_module.recompile()
        return changed

    def get_fused_node(self, producer: Node, consumer: Node, graph_module: GraphModule) -> Node:
        """Returns the node that replaces an inverse operator. By default, the operator is not replaced."""
        return consumer

    def fuse(self, node: Node, removal_candidates: list[Node], graph_module: GraphModule) -> None:
        """Removes an operator, and replaces its inverse operators by `get_fused_node`."""
        node.replace_all_uses_with(node.all_input_nodes[0])
        graph_module.graph.erase_node(node)
        for consumer in removal_candidates:
            fused = self.get_fused_node(node, consumer, graph_module)
            if fused is not consumer:
                consumer.replace_all_uses_with(fused)
                graph_module.graph.erase_node(consumer)


def _is_of(node: Node, packets: Collection[EdgeOpOverloadPacket]) -> bool:
    return isinstance(node.target, EdgeOpOverload) and get_edge_overload_packet(node.target) in packets
