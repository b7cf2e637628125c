"""Scalar arithmetic on sizes: Python functions in exported graphs, and the matching runtime operators."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable

import torch

from rushlight.ir.edge_ops import BackendOpOverload, bind_pattern_to_op

_library = torch.library.Library("executorch_prim", "FRAGMENT")

# (operator name, schema, Python function, function in exported graphs)
_ROWS: tuple[tuple[str, str, Callable[..., object], Callable[..., object]], ...] = (
    ("add", "(Scalar a, Scalar b) -> Scalar", operator.add, operator.add),
    ("sub", "(Scalar a, Scalar b) -> Scalar", operator.sub, operator.sub),
    ("mul", "(Scalar a, Scalar b) -> Scalar", operator.mul, operator.mul),
    ("floordiv", "(Scalar a, Scalar b) -> Scalar", operator.floordiv, operator.floordiv),
    ("truediv", "(Scalar a, Scalar b) -> Scalar", operator.truediv, operator.truediv),
    ("mod", "(SymInt a, SymInt b) -> SymInt", operator.mod, operator.mod),
    ("pow", "(Scalar a, Scalar b) -> Scalar", operator.pow, operator.pow),
    ("neg", "(Scalar a) -> Scalar", operator.neg, operator.neg),
    ("gt", "(Scalar a, Scalar b) -> bool", operator.gt, operator.gt),
    ("lt", "(Scalar a, Scalar b) -> bool", operator.lt, operator.lt),
    ("ge", "(Scalar a, Scalar b) -> bool", operator.ge, operator.ge),
    ("le", "(Scalar a, Scalar b) -> bool", operator.le, operator.le),
    ("eq", "(Scalar a, Scalar b) -> bool", operator.eq, operator.eq),
    ("ceil", "(Scalar a) -> Scalar", math.ceil, math.ceil),
    ("round", "(Scalar a) -> Scalar", builtins.round, builtins.round),
    ("trunc", "(Scalar a) -> Scalar", math.trunc, math.trunc),
    ("sym_float", "(Scalar a) -> Scalar", float, torch.sym_float),
    ("sym_int", "(Scalar a) -> Scalar", int, torch.sym_int),
    ("sym_max", "(Scalar a, Scalar b) -> Scalar", max, torch.sym_max),
    ("sym_min", "(Scalar a, Scalar b) -> Scalar", min, torch.sym_min),
    ("sym_not", "(Scalar a) -> bool", operator.not_, torch.sym_not),
    ("sym_ite", "(Scalar b, Scalar t, Scalar f) -> Scalar", lambda b, t, f: t if b else f, torch.sym_ite),
)


def _bind() -> dict[object, BackendOpOverload]:
    from rushlight.ir.edge_ops import ops

    table: dict[object, BackendOpOverload] = {}
    registered = hasattr(torch.ops.executorch_prim, "add")
    for name, schema, function, target in _ROWS:
        declaration = f"{name}.Scalar" + ("" if registered else schema)
        bind_pattern_to_op(_library, declaration)(function)
        table[target] = getattr(ops.backend.executorch_prim, name).Scalar
    return table


PYTHON_TO_PRIM: dict[object, BackendOpOverload] = _bind()
"""The runtime operator for each Python function on symbolic scalars."""

ATEN_SYM_OPS = frozenset(
    {
        torch.ops.aten.sym_size.int,
        torch.ops.aten.sym_stride.int,
        torch.ops.aten.sym_numel.default,
        torch.ops.aten.sym_storage_offset.default,
        torch.ops.aten._local_scalar_dense.default,
        torch.ops.aten.sym_constrain_range_for_size.default,
        torch.ops.aten.sym_constrain_range.default,
    }
)
"""ATen operators that read scalars or assert bounds of scalars. All dialects allow them."""

ALWAYS_ATEN = ATEN_SYM_OPS | {
    torch.ops.aten._assert_scalar.default,
    torch.ops.aten._assert_async.msg,
    torch.ops.aten.scalar_tensor.default,
}
"""Operators that are ATen operators in all dialects."""

_PRIMS = frozenset(PYTHON_TO_PRIM.values())


def is_sym_op(target: object) -> bool:
    """Returns whether the target of a node computes on scalars."""
    try:
        return target in PYTHON_TO_PRIM or target in _PRIMS or target in ATEN_SYM_OPS
    except TypeError:
        return False
