"""Replaces symbolic shapes in specs by numbers: upper bounds or example sizes."""

from __future__ import annotations

from collections.abc import Callable

from torch.fx import GraphModule
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.spec import TensorShapeDynamism, TensorSpec, strides_from_dim_order
from rushlight.ir.sym import IntLike, hint, upper_bound
from rushlight.passes.base import GraphPass

SizeOf = Callable[[IntLike], int | None]


class ConstraintBasedSymShapeEvalPass(GraphPass):
    """Replaces dynamic dims by their upper bounds. Without a bound, the shape of the tensor is unbounded."""

    @override
    def rewrite(self, module: GraphModule) -> bool:
        return _evaluate(module, upper_bound)


class HintBasedSymShapeEvalPass(GraphPass):
    """Replaces dynamic dims by the example sizes, and data-dependent dims by their upper bounds."""

    @override
    def rewrite(self, module: GraphModule) -> bool:
        return _evaluate(module, _hint_or_bound)


def _hint_or_bound(size: IntLike) -> int | None:
    value = hint(size)
    return value if value is not None else upper_bound(size)


def _evaluate(module: GraphModule, size_of: SizeOf) -> bool:
    changed = False
    for node in module.graph.nodes:
        for spec in meta.tensor_specs(node):
            if any(not isinstance(size, int) for size in spec.shape):
                _evaluate_spec(spec, size_of)
                changed = True
    return changed


def _evaluate_spec(spec: TensorSpec, size_of: SizeOf) -> None:
    sizes = [size_of(size) for size in spec.shape]
    if any(size is None for size in sizes):
        spec.shape_dynamism = TensorShapeDynamism.DYNAMIC_UNBOUND
    else:
        spec.shape_dynamism = TensorShapeDynamism.DYNAMIC_BOUND
    spec.shape = [0 if size is None else size for size in sizes]
    spec.stride = strides_from_dim_order(spec.shape, spec.dim_order)
