"""A Python number where the schema asks for a tensor becomes a constant of rank 0."""

from __future__ import annotations

from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule

from rushlight.ir.fake import Evaluator
from rushlight.passes.base import GraphPass, add_constant, map_arguments


class ScalarToTensor(GraphPass):
    """Before: aten.mul.Tensor(x, 2.5). Expected: aten.mul.Tensor(x, _tensor_constant0), float32 of rank 0."""

    def rewrite(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        changed = False
        for node in module.graph.nodes:
            if node.op != "call_function" or not isinstance(node.target, OpOverload):
                continue

            def lift(value: Any, argument: Any, node: Any = node) -> Any:
                if isinstance(value, (bool, int, float)) and isinstance(argument.type, torch.TensorType):
                    constant = torch.tensor(value)
                    return add_constant(module, constant, node, evaluator.like(constant))
                return value

            changed |= map_arguments(node, node.target, lift)
        return changed
