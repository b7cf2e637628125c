"""Determines which nodes OpenVINO supports: converts each node by itself, and equal nodes only once."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch.fx import Graph, Node

from rushlight.backends.openvino.convert import (
    CANNOT_CONVERT,
    MISSING,
    aten_name,
    convert,
    is_item,
    paired_dequantizes,
)
from rushlight.ir import meta
from rushlight.ir.errors import CompileError
from rushlight.ir.spec import is_dense_in

_DTYPES = {
    torch.float32,
    torch.float16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
}


class Support:
    """Determines which nodes of one program OpenVINO supports.

    Args:
        constants: the tensors of constant placeholders, by name.
    """

    def __init__(self, constants: Mapping[str, torch.Tensor]) -> None:
        self._constants = constants
        self._reasons: dict[object, str | None] = {}

    def is_constant(self, node: Node) -> bool:
        """Returns whether a node is a placeholder of a constant."""
        return node.op == "placeholder" and node.name in self._constants

    def unsupported_reason(self, node: Node) -> str | None:
        """Returns the reason why OpenVINO does not support a call_function node; None if it does."""
        if not aten_name(node):
            return "it does not call an operator"
        if reason := self._type_reason(node):
            return reason
        key = self._key(node)
        if key not in self._reasons:
            self._reasons[key] = self._conversion_reason(node)
        return self._reasons[key]

    def _type_reason(self, node: Node) -> str | None:
        schema = getattr(node.target, "_op", node.target)._schema  # type: ignore[union-attr]
        if schema.is_mutable:
            return "it writes into its arguments"
        for item in (node, *node.all_input_nodes):
            if item is not node and isinstance(meta.get_val(item), torch.SymInt):
                return f"{item.name} is a symbolic integer"
            value = meta.get_val(item)
            for tensor in value if isinstance(value, (list, tuple)) else (value,):
                if not isinstance(tensor, torch.Tensor):
                    return f"{item.name} is not a tensor"
                if tensor.dtype not in _DTYPES:
                    return f"{item.name} is {str(tensor.dtype).removeprefix('torch.')}"
                if not is_dense_in(tensor, range(tensor.dim())):
                    return f"{item.name} is not contiguous"
        return None

    def _key(self, node: Node) -> object:
        def shape(item: object) -> object:
            if isinstance(item, Node):
                value = meta.get_val(item)
                return self.is_constant(item), value.dtype, tuple(map(str, value.shape))
            return (type(item).__name__, repr(item))

        arguments = torch.fx.node.map_aggregate((node.args, tuple(node.kwargs.items())), lambda item: item)
        leaves = torch.utils._pytree.tree_leaves(arguments)
        return aten_name(node), bool(paired_dequantizes(node)), tuple(map(shape, leaves))

    def _conversion_reason(self, node: Node) -> str | None:
        graph, constants = Graph(), {}
        values: dict[Node, Node] = {}
        for source in node.all_input_nodes:
            placeholder = values[source] = graph.placeholder(source.name)
            meta.add_all(source, placeholder)
            if self.is_constant(source):
                constants[placeholder.name] = self._constants[source.name]
        new = graph.node_copy(node, values.__getitem__)
        items = [graph.node_copy(user, {node: new}.__getitem__) for user in node.users if is_item(user)]
        outputs = items or [new]
        graph.output(tuple(outputs))
        try:
            model = convert(graph, constants)
        except CompileError as error:
            if str(error) == MISSING:
                raise
            return str(error).removeprefix(CANNOT_CONVERT)
        for output, port in zip(outputs, model.outputs, strict=False):
            tensor = meta.get_tensor(output)
            if tensor is not None and port.get_partial_shape().rank.get_length() != tensor.dim():
                return "its result has another number of dimensions in OpenVINO"
        return None
