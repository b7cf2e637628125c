"""Selects the layout of each image in a graph: channels last if an operator of XNNPACK needs it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import torch
from torch.fx import Graph, GraphModule, Node
from typing_extensions import override

from rushlight.compat.quantized_nodes import (
    is_dequant,
    is_dynamic_qdq,
    is_quant,
    is_tagged_as_implicit_q_dq,
    tag_as_implicit_q_dq,
)
from rushlight.compat.transforms.program_graph import ProgramGraphPass
from rushlight.compat.transforms.rewriting import refresh
from rushlight.ir import meta
from rushlight.ir.edge_ops import EdgeOpOverload, is_op, ops
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import insert_call

_edge = ops.edge.aten
_pair = ops.edge.quantized_decomposed


class ChannelsLastTaggedReshapePass(ProgramGraphPass):
    """Marks the layout of each tensor of four dimensions, and inserts copies where the layout changes.

    Convolutions, pooling, upsampling, maxima and means over images have channels-last inputs and results.
    Views, squeezes and linear layers need channels-first (row-major) inputs, and so do the outputs of the
    graph that were not channels last before. All other operators need inputs with equal layouts. In front of
    quantized operators, a copy is surrounded by dequantize and quantize nodes that are marked as implicit.

    The results of the graph do not change, because a copy changes only strides. Tensors with another number
    of dimensions have no layout and are not changed.

    Before: y = convolution(x, w, ...)
    Expected: a = _to_copy(x, memory_format=channels_last); b = convolution(a, w, ...)
    y = _to_copy(b, memory_format=contiguous_format)
    """

    XNN_NHWC_NODE: ClassVar[str] = meta.CHANNELS_LAST

    memory_sensitive_ops_nhwc: ClassVar[set[EdgeOpOverload]] = {
        _edge.amax.default,
        _edge.avg_pool2d.default,
        _edge.convolution.default,
        _edge.max.dim,
        _edge.max_pool2d.default,
        _edge.mean.dim,
        _edge.prelu.default,
        _edge.upsample_bilinear2d.vec,
    }
    """Operators with channels-last inputs and results."""

    memory_sensitive_ops_nchw: ClassVar[set[EdgeOpOverload]] = {
        _edge.linear.default,
        _edge.squeeze_copy.dim,
        _edge.unsqueeze_copy.default,
    }
    """Operators with channels-first inputs."""

    @staticmethod
    def mark_as_nhwc_node(node: Node) -> None:
        """Marks the result of a node as channels last."""
        meta.set_channels_last(node, True)

    @staticmethod
    def mark_as_nchw_node(node: Node) -> None:
        """Marks the result of a node as channels first."""
        meta.set_channels_last(node, False)

    @staticmethod
    def is_nhwc_node(node: Node) -> bool:
        """Returns whether a node's result is channels last.

        For a dequantize node, this is the layout of the value that was quantized.
        """
        quantized = node.args[0] if is_dequant(node) else None
        if isinstance(quantized, Node) and is_quant(quantized) and isinstance(quantized.args[0], Node):
            node = quantized.args[0]
        chosen = meta.get_channels_last(node)
        if chosen is None:
            return node.op == "placeholder" and has_channels_last(node)
        return chosen

    @staticmethod
    def is_nchw_node(node: Node) -> bool:
        """Returns whether the result of a node is channels first, or has no mark."""
        return not ChannelsLastTaggedReshapePass.is_nhwc_node(node)

    def requires_nhwc_input(self, node: Node) -> bool:
        """Returns whether an operator needs a channels-last input."""
        return node.target in self.memory_sensitive_ops_nhwc

    def requires_nchw_inputs(self, node: Node) -> bool:
        """Returns whether an operator needs channels-first inputs."""
        return node.target is _edge.view_copy.default or node.target in self.memory_sensitive_ops_nchw

    def can_be_converted_to_nhwc(self, node: Node) -> bool:
        """Returns whether a value can be converted to channels last: a computed tensor of four dimensions."""
        return len(meta.get_shape(node)) == 4 and self.stored(node) is None

    @override
    def rewrite(self, module: GraphModule) -> bool:
        copies = _Copies(self, Evaluator.of(module))
        for node in list(module.graph.nodes):
            self._visit(node, copies)
        refresh(copies.evaluator, module.graph, copies.made)
        return True

    def _visit(self, node: Node, copies: _Copies) -> None:
        sources = [source for source in node.all_input_nodes if meta.get_tensor(source) is not None]
        if node.op == "output":
            for source in sources:
                copies.convert(source, node, has_channels_last(source))
        elif not node.all_input_nodes:
            if len(meta.get_shape(node)) == 4:
                meta.set_channels_last(node, has_channels_last(node))
        elif self.requires_nhwc_input(node):
            if self.is_nhwc_node(sources[0]) or self.can_be_converted_to_nhwc(sources[0]):
                copies.convert(sources[0], node, True)
                self.mark_as_nhwc_node(node)
        elif self.requires_nchw_inputs(node):
            for source in sources:
                copies.convert(source, node, False)
        elif is_op(node, torch.ops.aten._to_copy.default) and "memory_format" in node.kwargs:
            meta.set_channels_last(node, node.kwargs["memory_format"] is torch.channels_last)
        else:
            self._unify_layouts(node, sources, copies)

    def _unify_layouts(self, node: Node, sources: list[Node], copies: _Copies) -> None:
        """Converts the inputs of a node to the same layout."""
        first = [source for source in sources if self.is_nchw_node(source)]
        if len(first) == len(sources):
            return
        is_last = all(map(self.can_be_converted_to_nhwc, first))
        for source in sources:
            copies.convert(source, node, is_last)
        if is_last:
            self.mark_as_nhwc_node(node)


class _Copies:
    """The copies that a run of the pass inserts. A value that is not quantized is copied at most once."""

    def __init__(self, owner: ChannelsLastTaggedReshapePass, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.made: list[Node] = []
        self._owner = owner
        self._other: dict[Node, Node] = {}

    def convert(self, source: Node, user: Node, is_last: bool) -> None:
        """Replaces an input of `user` by a copy with the given layout, if its layout differs."""
        if self._owner.is_nhwc_node(source) == is_last or len(meta.get_shape(source)) != 4:
            return
        if is_op(source, torch.ops.quantized_decomposed.dequantize_per_tensor.default):
            user.replace_input_with(source, self._behind_dequantize(source, user, is_last))
        elif is_op(source, torch.ops.quantized_decomposed.quantize_per_tensor.default):
            user.replace_input_with(source, self._behind_quantize(source, is_last))
        elif is_dynamic_qdq(source) and is_dequant(source):
            self._before_dynamic(source, is_last)
        else:
            user.replace_input_with(source, self._copy(source, is_last))

    def _copy(self, source: Node, is_last: bool) -> Node:
        """Returns the copy of a value with the other layout."""
        if source not in self._other:
            node = self._call_behind(source, _edge._to_copy.default, (source,), is_last)
            self._other |= {source: node, node: source}
        return self._other[source]

    def _call_behind(
        self, place: Node, op: EdgeOpOverload, args: tuple[Any, ...], is_last: bool | None = None
    ) -> Node:
        order = torch.channels_last if is_last else torch.contiguous_format
        options: dict[str, Any] = {} if is_last is None else {"memory_format": order}
        node = insert_call(self.evaluator, _behind(place), op, args, **options)
        meta.copy_origin(place, node)
        if is_last is not None:
            meta.set_channels_last(node, is_last)
            self.made.append(node)
        return node

    def _behind_dequantize(self, source: Node, user: Node, is_last: bool) -> Node:
        """Inserts a copy behind a dequantize node, and quantizes it with the same parameters.

        The new quantize node is marked as implicit, and so is the given dequantize node if `user` is its only
        user. If the given node was implicit, the new dequantize node is implicit too.

        Returns:
            The dequantize node behind the copy.
        """
        params = source.args[1:]
        was_implicit = is_tagged_as_implicit_q_dq(source)
        is_only_user = set(source.users) == {user}
        copy = self._call_behind(source, _edge._to_copy.default, (source,), is_last)
        quantized = self._call_behind(copy, _pair.quantize_per_tensor.default, (copy, *params))
        result = self._call_behind(quantized, _pair.dequantize_per_tensor.default, (quantized, *params))
        tag_as_implicit_q_dq(quantized)
        if is_only_user:
            tag_as_implicit_q_dq(source)
        if was_implicit:
            tag_as_implicit_q_dq(result)
        self._mark(is_last, quantized, result)
        return result

    def _behind_quantize(self, source: Node, is_last: bool) -> Node:
        params = source.args[1:]
        number = self._call_behind(source, _pair.dequantize_per_tensor.default, (source, *params))
        copy = self._call_behind(number, _edge._to_copy.default, (number,), is_last)
        result = self._call_behind(copy, _pair.quantize_per_tensor.default, (copy, *params))
        tag_as_implicit_q_dq(number)
        tag_as_implicit_q_dq(result)
        self._mark(is_last, result)
        return result

    def _before_dynamic(self, source: Node, is_last: bool) -> None:
        """Inserts a copy in front of dynamic quantization.

        The copy becomes the input of the quantize node and of the nodes that compute the parameters.
        """
        quantize = source.args[0]
        assert isinstance(quantize, Node) and isinstance(quantize.args[0], Node)
        value = quantize.args[0]
        chosen: Iterable[Node] = (parameter.all_input_nodes[0] for parameter in quantize.all_input_nodes[1:])
        copy = self._copy(value, is_last)
        for node in (quantize, *chosen):
            node.replace_input_with(value, copy)
        self._mark(is_last, quantize, source)

    @staticmethod
    def _mark(is_last: bool, *nodes: Node) -> None:
        for node in nodes:
            meta.set_channels_last(node, is_last)


def has_channels_last(node: Node) -> bool:
    """Returns whether a node's tensor of four dimensions is channels last in memory, and not row-major."""
    tensor = meta.get_tensor(node)
    if tensor is None or tensor.dim() != 4 or tensor.is_contiguous():
        return False
    return tensor.is_contiguous(memory_format=torch.channels_last)


def _behind(node: Node) -> Node:
    """Returns the node in front of which new nodes are inserted, behind `node` and all graph inputs."""
    graph: Graph = node.graph
    if node.op == "placeholder":
        place: Node = next(other for other in graph.nodes if other.op != "placeholder")
        return place
    return node.next
