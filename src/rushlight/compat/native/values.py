"""Describes tensors and operators in the terms of `schema/native_graph.fbs`."""

from __future__ import annotations

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from rushlight.compat.native.schema import Dim, ScalarType, TensorMeta
from rushlight.emit.tensors import SCALAR_TYPES
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.spec import dim_order_from_strides, strides_from_dim_order
from rushlight.ir.sym import IntLike, bounds

_SCALAR_TYPES = {
    dtype: ScalarType(number)
    for dtype, number in SCALAR_TYPES.items()
    if int(number) in set(map(int, ScalarType))
}


def scalar_type_of(dtype: torch.dtype) -> ScalarType:
    """Returns the number of a dtype.

    Raises:
        ValueError: the format has no number for the dtype.
    """
    try:
        return _SCALAR_TYPES[dtype]
    except KeyError:
        raise ValueError(f"native graphs have no tensors of {dtype}; convert the tensor") from None


def dim_of(size: IntLike) -> Dim:
    """Returns the bounds of a size. They do not depend on its example value."""
    low, high = bounds(size)
    return Dim(max(low, 0), -1 if high is None else high)


def dim_order_of(tensor: torch.Tensor) -> list[int]:
    """Returns the dimensions from outermost to innermost.

    Args:
        tensor: a tensor whose sizes may be symbolic.

    Raises:
        ValueError: the sizes and the dim order do not determine the strides, as for a slice.
    """
    order = dim_order_from_strides(tensor.stride())
    dense = strides_from_dim_order(tensor.shape, order)
    for size, stride, expected in zip(tensor.shape, tensor.stride(), dense, strict=True):
        if not statically_known_true(size == 1) and not statically_known_true(stride == expected):
            raise ValueError(
                f"a tensor of the sizes {list(tensor.shape)} and the strides {list(tensor.stride())} is "
                f"not dim-order expressible: dense tensors of the dim order {list(order)} have the strides "
                f"{list(dense)}; copy the tensor with contiguous()"
            )
    return list(order)


def tensor_meta_of(tensor: torch.Tensor) -> TensorMeta:
    """Describes a tensor, whose sizes may be symbolic.

    Raises:
        ValueError: the format does not have the dtype or the strides of the tensor.
    """
    sizes = [dim_of(size) for size in tensor.shape]
    return TensorMeta(scalar_type_of(tensor.dtype), sizes, dim_order_of(tensor))


def serialize_operator(target: object) -> str:
    """Returns the name of the operator that a node calls, such as "torch.ops.aten.add.Tensor".

    Args:
        target: the target of a node: an operator of any dialect, a control flow operator, a function or a
            name.
    """
    if isinstance(target, str):
        return target
    op = aten_op(target)
    if op is not None:
        return f"torch.ops.{op.namespace}.{op._schema.name.split('::')[1]}.{op._overloadname}"
    module = str(getattr(target, "__module__", None) or "").replace("torch._ops", "torch.ops")
    name = getattr(target, "__name__", None) or str(target)
    return f"{module}.{name}" if module else name
