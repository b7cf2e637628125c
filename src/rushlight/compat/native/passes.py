"""The passes that run before programs are lowered to the native backend."""

from __future__ import annotations

import torch
from torch._ops import OpOverload

from rushlight.compat.graph_passes import CSEPass
from rushlight.compat.transforms.views import CollapseViewCopyPass
from rushlight.compiler.config import EdgeCompileConfig
from rushlight.ir.edge_ops import EdgeOpOverload, aten_op, ops
from rushlight.passes.base import AnyPass
from rushlight.passes.reinplace import ReinplacePass, inplace_operator

__all__ = [
    "BACKEND_INPLACE_OPS",
    "CollapseViewCopyPass",
    "NativeReinplacePass",
    "backend_inplace_aten_variants",
    "get_default_compile_config",
    "get_default_passes",
]

_IN_PLACE = (
    torch.ops.aten.relu.default,
    torch.ops.aten.gelu.default,
    torch.ops.aten.sigmoid.default,
    torch.ops.aten.index_put.default,
    torch.ops.aten.index_copy.default,
)

BACKEND_INPLACE_OPS: frozenset[EdgeOpOverload] = frozenset(
    getattr(ops.edge.aten, op._schema.name.split("::")[1]).default for op in _IN_PLACE
)
"""The operators that the native backend can run in place."""


def backend_inplace_aten_variants() -> set[OpOverload]:
    """Returns the in-place operators of the native backend, such as `aten.relu_.default`."""
    variants = (inplace_operator(op) for op in _IN_PLACE)
    return {op for variant in variants if (op := aten_op(variant)) is not None}


class NativeReinplacePass(ReinplacePass):
    """Replaces operators by in-place operators where the native backend has them and no node needs the input.

    Before: y = aten.relu(x). Expected: y = aten.relu_(x)
    """

    def __init__(self) -> None:
        super().__init__(BACKEND_INPLACE_OPS)


def get_default_passes() -> list[AnyPass]:
    """Returns passes that merge views and equal calls, and then replace operators by in-place operators."""
    return [CollapseViewCopyPass(), CSEPass(), NativeReinplacePass()]


def get_default_compile_config() -> EdgeCompileConfig:
    """Returns options that accept in-place operators and keep operators with memory format arguments."""
    return EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=True)
