"""Replaces arithmetic on symbolic scalars by the `executorch_prim` operators of the runtime."""

from __future__ import annotations

from torch._ops import OpOverload
from torch.fx import GraphModule
from typing_extensions import override

from rushlight.ir.edge_ops import to_backend_op
from rushlight.ir.sym_ops import PYTHON_TO_PRIM
from rushlight.passes.base import GraphPass


class UsePrimOpsPass(GraphPass):
    """Before: operator.mul(sym_size, 5). Expected: executorch_prim.mul.Scalar(sym_size, 5)."""

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for node in module.graph.nodes:
            if node.op != "call_function":
                continue
            target = node.target
            new = None
            if isinstance(target, OpOverload):
                new = to_backend_op(target)
            elif not hasattr(target, "_op"):
                new = PYTHON_TO_PRIM.get(target)
            if new is not None:
                node.target = new
                changed = True
        return changed
