"""Converts a symbolic scalar with `scalar_tensor` if the schema requires a tensor."""

from __future__ import annotations

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from torch.fx.node import Argument
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import GraphPass, insert_call, map_arguments

_DTYPES = {torch.SymInt: torch.int32, torch.SymFloat: torch.float32, torch.SymBool: torch.bool}


class SymToTensorPass(GraphPass):
    """Before: aten.add.Tensor(x, sym_size)
    Expected: aten.add.Tensor(x, aten.scalar_tensor(sym_size, dtype=torch.int32))
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        changed = False
        for node in module.graph.nodes:
            if node.op != "call_function" or not isinstance(node.target, OpOverload):
                continue

            def lift(value: Argument, argument: torch._C.Argument, node: Node = node) -> Argument:
                if not isinstance(value, Node) or not isinstance(argument.type, torch.TensorType):
                    return value
                dtype = _DTYPES.get(type(meta.get_val(value)))
                if dtype is None:
                    return value
                return insert_call(
                    evaluator, node, torch.ops.aten.scalar_tensor.default, (value,), dtype=dtype
                )

            changed |= map_arguments(node, node.target, lift)
        return changed
