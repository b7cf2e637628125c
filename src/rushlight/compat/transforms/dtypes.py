"""Changes the dtype in which a graph is computed."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op, ops
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import GraphPass


class ConvertDtypePass(GraphPass):
    """Converts inputs from one dtype to another, computes in the new dtype, and converts outputs back.

    The dtypes of inputs and outputs do not change. Stored tensors are inputs too.

    Before: y = add(x, x) of an int64 x
    Expected: a = _to_dim_order_copy(x, dtype=int32); b = add(a, a); y = _to_dim_order_copy(b, dtype=int64)

    Args:
        src_dtype: the dtype that is replaced.
        dst_dtype: the dtype in which the graph is computed.
        _skip_dim_order: convert with `_to_copy` instead of `_to_dim_order_copy`.
    """

    def __init__(self, src_dtype: torch.dtype, dst_dtype: torch.dtype, _skip_dim_order: bool = False) -> None:
        super().__init__()
        copies = (ops.edge.dim_order_ops._to_dim_order_copy.default, ops.edge.aten._to_copy.default)
        self.copy_op = copies[_skip_dim_order]
        self.src_dtype = src_dtype
        self.dst_dtype = dst_dtype

    @override
    def rewrite(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        graph = module.graph
        output = graph.output_node()
        results = [node for node in output.all_input_nodes if meta.get_dtype(node) is self.src_dtype]
        nodes = list(graph.nodes)
        first = next(node for node in nodes if node.op != "placeholder")
        changed = False
        for node in nodes:
            if meta.get_dtype(node) is not self.src_dtype:
                continue
            if node.op == "call_function":
                self._set_dtype(node)
                changed = True
                continue
            users = [user for user in node.users if user is not output]
            if users:
                before = first if node.op == "placeholder" else node.next
                self._convert(evaluator, node, before, self.dst_dtype, users)
                changed = True
        for node in nodes if changed else ():
            if aten_op(node.target) is not None and meta.get_tensor(node) is not None:
                target: Any = node.target
                meta.set_val(node, evaluator.value(target, node.args, node.kwargs))
        for node in results:
            if meta.get_dtype(node) is not self.src_dtype:
                self._convert(evaluator, node, output, self.src_dtype, [output])
        return changed

    def _set_dtype(self, node: Node) -> None:
        """Replaces the dtype argument of a call."""
        op = aten_op(node.target)
        if op is not None and any(argument.name == "dtype" for argument in op._schema.arguments):
            node.kwargs = {**node.kwargs, "dtype": self.dst_dtype}

    def _convert(
        self, evaluator: Evaluator, node: Node, before: Node, dtype: torch.dtype, users: list[Node]
    ) -> None:
        with node.graph.inserting_before(before):
            new = node.graph.call_function(self.copy_op, (node,), {"dtype": dtype})
        meta.copy_origin(node, new)
        meta.set_val(new, evaluator.value(self.copy_op, new.args, new.kwargs))
        for user in users:
            user.replace_input_with(node, new)


class I64toI32(ConvertDtypePass):
    """Computes in int32 instead of int64."""

    def __init__(self, _skip_dim_order: bool = False) -> None:
        super().__init__(torch.int64, torch.int32, _skip_dim_order)
