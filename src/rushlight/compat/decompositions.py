"""The decomposition tables of ExecuTorch's compiler, for code that reads them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._decomp import get_decompositions
from torch._ops import OpOverload
from torch.export import default_decompositions

from rushlight.ir.quantization import qd

aten = torch.ops.aten

_OLD_TABLE = (
    aten.log_sigmoid_forward,
    aten.ones,
    aten.arange.default,
    aten.arange.start,
    aten.transpose,
)
"""The operators that the first version of `exir.capture` decomposed."""

_NEVER_KEPT = (
    aten._to_copy.default,
    aten.add.Tensor,
    aten.sub.Tensor,
    aten.mul.Tensor,
    aten.div.Tensor,
    aten.item.default,
    aten._local_scalar_dense.default,
)


def default_decomposition_table(_use_old_decomp_table: bool = False) -> dict[Any, Callable[..., Any]]:
    """Returns the decompositions of the edge dialect: Core ATen's decompositions, without quantization.

    Args:
        _use_old_decomp_table: return only the decompositions of the first version of `exir.capture`.
    """
    if _use_old_decomp_table:
        return dict(get_decompositions(_OLD_TABLE))
    table: dict[Any, Callable[..., Any]] = dict(default_decompositions())
    table.update(get_decompositions([aten.linalg_vector_norm.default]))
    for op in list(table):
        if isinstance(op, OpOverload) and op.namespace == qd.name:
            del table[op]
    return table


def keepable_operators(preserve_ops: Sequence[OpOverload]) -> list[OpOverload]:
    """Returns the operators in `preserve_ops` that the compiler can preserve.

    The compiler always decomposes operators that write or alias an argument, or that a pass to the edge
    dialect replaces. A warning names these operators.
    """
    kept = []
    for op in preserve_ops:
        reason = _why_not(op)
        if reason is None:
            kept.append(op)
        else:
            logging.warning("%s in preserve_ops is decomposed, because %s", op, reason)
    return kept


def _why_not(op: OpOverload) -> str | None:
    if str(op) == "torchao.choose_qparams_affine.default":
        return None  # Its schema declares an alias, but the results do not alias an argument.
    if op._schema.is_mutable:
        return "it writes an argument"
    if any(result.alias_info is not None for result in op._schema.returns):
        return "its result aliases an argument"
    return "the passes to the edge dialect replace it" if op in _NEVER_KEPT else None
