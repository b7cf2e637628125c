"""TensorSpec: the properties of a tensor that the program file and the memory planner need."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any

import sympy
import torch
from torch.utils._sympy.functions import Max

from rushlight.ir.errors import InternalError
from rushlight.ir.sym import IntLike, expression_of, hint, same_size, upper_bound

DEFAULT_ALIGNMENT = 16


class TensorShapeDynamism(enum.IntEnum):
    """How the shape of a tensor may change at run time. The file format defines the numbers."""

    STATIC = 0
    DYNAMIC_BOUND = 1
    DYNAMIC_UNBOUND = 2


class DeviceType(enum.IntEnum):
    """The device whose memory contains a tensor. The file format defines the numbers."""

    CPU = 0
    CUDA = 1


@dataclass(frozen=True)
class BufferDevice:
    """The device of a planned memory. `buffer_idx` is the mem_id of the memory."""

    buffer_idx: int
    device_type: DeviceType
    device_index: int


def dtype_size(dtype: torch.dtype) -> int:
    """Returns the size of an element in bytes."""
    return dtype.itemsize


def contiguous_strides(shape: Sequence[IntLike]) -> tuple[IntLike, ...]:
    """Returns the strides, in elements, of a dense row-major tensor. A dim of size 0 is treated as size 1."""
    strides: list[IntLike] = []
    step: IntLike = 1
    for size in reversed(shape):
        strides.append(step)
        if not (isinstance(size, int) and size == 0):
            step = step * size
    return tuple(reversed(strides))


def dim_order_from_strides(strides: Sequence[IntLike]) -> tuple[int, ...]:
    """Returns the dims from the outermost to the innermost. Dims with equal strides keep their order.

    A stride of 0 (a broadcast dim) does not determine the layout. Such a tensor is treated as row-major.
    """
    if all(isinstance(stride, int) for stride in strides):
        if any(stride == 0 for stride in strides):
            return tuple(range(len(strides)))
        return tuple(sorted(range(len(strides)), key=lambda dim: -int(strides[dim])))

    def outer_first(a: int, b: int) -> int:
        return _outer_first(strides[a], strides[b])

    return tuple(sorted(range(len(strides)), key=cmp_to_key(outer_first)))


def strides_from_dim_order(shape: Sequence[IntLike], dim_order: Sequence[int]) -> tuple[IntLike, ...]:
    """Returns the strides, in elements, of a dense tensor with this shape and dim order."""
    strides: list[IntLike] = [1] * len(shape)
    step: IntLike = 1
    for dim in reversed(dim_order):
        strides[dim] = step
        size = shape[dim]
        if not (isinstance(size, int) and size == 0):
            step = step * size
    return tuple(strides)


def is_dense_in(tensor: torch.Tensor, dim_order: Sequence[int]) -> bool:
    """Returns whether a tensor is dense in a dim order, for all of its sizes.

    Tensor.is_contiguous compares the sizes of the example, and adds guards. This function adds none.
    """
    shape = tuple(tensor.shape)
    if any(isinstance(size, int) and size == 0 for size in shape):
        return True
    dense = strides_from_dim_order(shape, dim_order)
    return all(
        same_size(size, 1) or same_size(stride, step) or _without_max(stride) == _without_max(step)
        for size, stride, step in zip(shape, tensor.stride(), dense, strict=True)
    )


def _without_max(stride: IntLike) -> sympy.Expr:
    """Returns a stride with n instead of Max(1, n). These differ only for empty tensors."""
    expression = expression_of(stride)
    terms = [term for term in expression.atoms(Max) if len(term.args) == 2 and term.args[0] == 1]
    return sympy.expand(expression.subs({term: term.args[1] for term in terms}))


def shape_dynamism(shape: Sequence[IntLike]) -> TensorShapeDynamism:
    """Returns the dynamism of a shape: static, bounded, or unbounded if a dim has no upper bound."""
    if all(isinstance(dim, int) for dim in shape):
        return TensorShapeDynamism.STATIC
    if all(upper_bound(dim) is not None for dim in shape):
        return TensorShapeDynamism.DYNAMIC_BOUND
    return TensorShapeDynamism.DYNAMIC_UNBOUND


def _outer_first(a: Any, b: Any) -> int:
    """Returns -1 if stride `a` is the outer one of two strides.

    Example values decide if they are known, else divisibility. Torch adds no guard.
    """
    from torch.fx.experimental.symbolic_shapes import statically_known_true

    if statically_known_true(a == b):
        return 0
    known_a, known_b = hint(a), hint(b)
    if known_a is not None and known_b is not None:
        return (known_a < known_b) - (known_a > known_b)
    if statically_known_true(a % b == 0):
        return -1
    if statically_known_true(b % a == 0):
        return 1
    return 0


def is_order_unknown(a: IntLike, b: IntLike) -> bool:
    """Returns whether neither example values nor divisibility decide which stride is the outer one."""
    from torch.fx.experimental.symbolic_shapes import statically_known_true

    unknown = hint(a) is None or hint(b) is None
    return unknown and _outer_first(a, b) == 0 and not statically_known_true(a == b)


class TensorSpec:
    """A tensor of a program: dtype, shape, layout, and its location in the memory plan.

    Attributes:
        scalar_type: the dtype.
        shape: the sizes. They are ints or symbolic ints until shapes are evaluated to their upper bounds.
        stride: the stride of each dimension, in elements.
        dim_order: the dimensions in memory order, outermost first.
        shape_dynamism: whether sizes may change at run time, and whether they have upper bounds.
        layout: torch.strided for dense tensors.
        is_sparse: whether the tensor is sparse.
        const: whether the tensor is a constant, whose value is in the program or in a data file.
        requires_grad: as in torch.
        extra_tensor_info: the qualified name and the location of the data, for the program file, or None.
        alignment: the alignment in planned memory, in bytes.
        storage: the elements of a constant, or None.
        device, device_index: the device whose memory contains the tensor.
        lifetime: the first and last step of the program that uses the tensor, both inclusive.
        mem_id: the planned memory, from 1; None without a plan.
        mem_obj_id: the number of the tensor's slot in this memory, for ExecuTorch's algorithms that assign
            slots. Rushlight's planners do not use it.
        mem_offset: the offset in the planned memory, in bytes; None without a plan.
        storage_base: the spec of another tensor whose memory contains this tensor, or None.
        storage_base_offset: the offset of this tensor in the memory of `storage_base`, in bytes.
    """

    def __init__(
        self,
        dtype: torch.dtype,
        shape: Sequence[IntLike],
        layout: torch.layout = torch.strided,
        is_sparse: bool = False,
        const: bool = False,
        requires_grad: bool = False,
        extra_tensor_info: Any = None,
    ) -> None:
        self.scalar_type = dtype
        self.shape: list[IntLike] = list(shape)
        self.stride: tuple[IntLike, ...] = contiguous_strides(self.shape)
        self.dim_order: tuple[int, ...] = tuple(range(len(self.shape)))
        self.shape_dynamism = shape_dynamism(self.shape)
        self.layout = layout
        self.is_sparse = is_sparse
        self.const = const
        self.requires_grad = requires_grad
        self.extra_tensor_info = extra_tensor_info
        self.alignment = DEFAULT_ALIGNMENT
        self.storage: torch.UntypedStorage | None = None
        self.device: int = DeviceType.CPU
        self.device_index = 0
        self.init_mem_planning_fields()

    @classmethod
    def from_tensor(cls, tensor: torch.Tensor, const: bool = False) -> TensorSpec:
        """Makes the spec of a real or fake tensor. The spec of a constant also contains its dense storage."""
        if const:
            tensor = tensor.contiguous()
            if tensor.nbytes != tensor.untyped_storage().nbytes():
                tensor = tensor.clone()
        spec = cls(tensor.dtype, tensor.shape, tensor.layout, tensor.is_sparse, const, tensor.requires_grad)
        strides = tensor.stride()
        spec.dim_order = dim_order_from_strides(strides)
        broadcast = any(isinstance(stride, int) and stride == 0 for stride in strides)
        spec.stride = spec.stride if broadcast else strides
        spec.storage = tensor.untyped_storage() if const else None
        return spec

    def init_mem_planning_fields(self) -> None:
        """Resets the fields that a memory plan writes."""
        self.lifetime: list[int | None] = [None, None]
        self.mem_id: int | None = None
        self.mem_obj_id: int | None = None
        self.mem_offset: int | None = None
        self.storage_base: TensorSpec | None = None
        self.storage_base_offset = 0

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the tensor."""
        return self.scalar_type

    @property
    def inplace_base(self) -> TensorSpec | None:
        """The spec whose memory this tensor reuses from offset 0; None if it reuses no memory."""
        if self.storage_base is not None and self.storage_base_offset != 0:
            raise InternalError(
                f"{self!r} starts {self.storage_base_offset} bytes into its base, not at offset 0"
            )
        return self.storage_base

    @inplace_base.setter
    def inplace_base(self, base: TensorSpec | None) -> None:
        if self.storage_base_offset != 0:
            raise InternalError(
                f"{self!r} can reuse the memory of a base only if its storage_base_offset is 0, "
                f"not {self.storage_base_offset}"
            )
        self.storage_base = base

    @property
    def allocated_memory(self) -> int:
        """The bytes that the planner reserves: `nbytes()` rounded up to the alignment."""
        return -(-self.nbytes() // self.alignment) * self.alignment

    def realign(self, new_alignment: int) -> int:
        """Sets the alignment in bytes, and returns the number of bytes to reserve."""
        self.alignment = new_alignment
        return self.allocated_memory

    def nbytes(self) -> int:
        """Returns the bytes of a dense tensor, with dynamic dims at their upper bounds; 0 without a bound."""
        size = dtype_size(self.scalar_type)
        for dim in self.shape:
            size *= dim if type(dim) is int else upper_bound(dim) or 0
        return size

    @property
    def is_static_shape_tensor(self) -> bool:
        """Whether all sizes are fixed."""
        return self.shape_dynamism == TensorShapeDynamism.STATIC

    @property
    def is_dynamic_shape_tensor(self) -> bool:
        """Whether a size may change."""
        return self.shape_dynamism != TensorShapeDynamism.STATIC

    @property
    def is_upper_bound_tensor(self) -> bool:
        """Whether sizes may change and all have upper bounds."""
        return self.shape_dynamism == TensorShapeDynamism.DYNAMIC_BOUND

    @property
    def is_dynamic_unbound_tensor(self) -> bool:
        """Whether a size has no upper bound."""
        return self.shape_dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND

    def debug(self) -> str:
        """Returns a line of text with the fields that the memory planner sets."""
        return (
            f"TensorSpec(id={id(self)}, const={self.const}, scalar_type={self.scalar_type}, "
            f"shape={self.shape}, shape_dynamism={self.shape_dynamism.name}, "
            f"allocated_memory={self.allocated_memory}, mem_id={self.mem_id}, "
            f"mem_offset={self.mem_offset}, lifetime={self.lifetime})"
        )

    def __repr__(self) -> str:
        return (
            f"TensorSpec(dtype={self.scalar_type}, shape={self.shape}, layout={self.layout}, "
            f"is_sparse={self.is_sparse}, shape_dynamism={self.shape_dynamism.name}, const={self.const}, "
            f"requires_grad={self.requires_grad}, device={DeviceType(self.device).name}:{self.device_index})"
        )
