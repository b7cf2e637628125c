"""The values of a method: tensors in their planned memory, lists and scalars."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from rushlight.format import program as p
from rushlight.format.pte import PTEFile
from rushlight.runtime.errors import (
    InvalidArgumentError,
    InvalidExternalDataError,
    InvalidProgramError,
    NotSupportedError,
    OutOfMemoryError,
)

DTYPES: dict[int, torch.dtype] = {
    p.ScalarType.BYTE: torch.uint8,
    p.ScalarType.CHAR: torch.int8,
    p.ScalarType.SHORT: torch.int16,
    p.ScalarType.INT: torch.int32,
    p.ScalarType.LONG: torch.int64,
    p.ScalarType.HALF: torch.float16,
    p.ScalarType.FLOAT: torch.float32,
    p.ScalarType.DOUBLE: torch.float64,
    p.ScalarType.COMPLEX32: torch.complex32,
    p.ScalarType.COMPLEX64: torch.complex64,
    p.ScalarType.COMPLEX128: torch.complex128,
    p.ScalarType.BOOL: torch.bool,
    p.ScalarType.BFLOAT16: torch.bfloat16,
    p.ScalarType.FLOAT8E5M2: torch.float8_e5m2,
    p.ScalarType.FLOAT8E4M3FN: torch.float8_e4m3fn,
    p.ScalarType.FLOAT8E5M2FNUZ: torch.float8_e5m2fnuz,
    p.ScalarType.FLOAT8E4M3FNUZ: torch.float8_e4m3fnuz,
    p.ScalarType.UINT16: torch.uint16,
    p.ScalarType.UINT32: torch.uint32,
    p.ScalarType.UINT64: torch.uint64,
}


@dataclass
class TensorSlot:
    """A tensor value.

    Attributes:
        dtype: the dtype.
        sizes: the sizes; upper bounds if the shape is dynamic.
        dim_order: the dimensions from outermost to innermost in memory.
        dynamism: whether the sizes may change.
        memory: the planned memory (uint8), or None if the value owns its memory.
        is_constant: whether the value is a constant, which the program must not write.
        tensor: the current tensor.
        is_view: whether `tensor` is a view of another value.
    """

    dtype: torch.dtype
    sizes: tuple[int, ...]
    dim_order: tuple[int, ...]
    dynamism: p.TensorShapeDynamism
    memory: torch.Tensor | None
    is_constant: bool
    tensor: torch.Tensor
    is_view: bool = False

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Returns whether a tensor of this shape may be written to the slot."""
        if self.dynamism == p.TensorShapeDynamism.STATIC:
            return shape == self.sizes
        return len(shape) == len(self.sizes) and (
            self.dynamism == p.TensorShapeDynamism.DYNAMIC_UNBOUND
            or all(size <= bound for size, bound in zip(shape, self.sizes, strict=True))
        )

    def place(self, shape: tuple[int, ...]) -> torch.Tensor:
        """Returns a tensor of the given shape in the memory of the slot.

        Raises:
            InvalidProgramError: the value is a constant.
            InvalidArgumentError: no memory is planned for the shape.
        """
        if self.is_constant:
            raise InvalidProgramError("the program writes to a constant")
        if shape != tuple(self.tensor.shape):
            if not self.fits(shape):
                bound = "at most " if self.dynamism else ""
                raise InvalidArgumentError(
                    f"a result of shape {list(shape)} does not fit in its planned memory, which is for the "
                    f"shape {bound}{list(self.sizes)}"
                )
            memory = self.memory
            if memory is None:
                count = math.prod(shape)
                memory = torch.empty(count * self.dtype.itemsize, dtype=torch.uint8)
            self.tensor = over_memory(memory, self.dtype, shape, self.dim_order)
        return self.tensor

    def write(self, value: torch.Tensor) -> None:
        """Copies a tensor to the slot. Converts it to the dtype and dim order of the slot."""
        self.place(tuple(value.shape)).copy_(value)

    def point_at(self, tensor: torch.Tensor) -> None:
        """Makes the slot a view of another tensor, until `restore`."""
        self.tensor, self.is_view = tensor, True

    def restore(self) -> None:
        """Makes the slot use its own memory again, if it is a view."""
        if self.is_view and self.memory is not None:
            self.tensor = over_memory(self.memory, self.dtype, self.sizes, self.dim_order)
        self.is_view = False


@dataclass
class ListSlot:
    """A list whose items are indices of other values; a negative index means None."""

    items: list[int]


Slot = TensorSlot | ListSlot | list[float] | list[bool] | int | float | bool | str | None


def strides_of(sizes: tuple[int, ...], dim_order: tuple[int, ...]) -> list[int]:
    """Returns the strides of a dense tensor, in elements.

    Args:
        sizes: the sizes of the tensor.
        dim_order: the dimensions from outermost to innermost.
    """
    strides = [0] * len(sizes)
    step = 1
    for dim in reversed(dim_order if len(dim_order) == len(sizes) else range(len(sizes))):
        strides[dim] = step
        step *= max(sizes[dim], 1)
    return strides


def over_memory(
    memory: torch.Tensor, dtype: torch.dtype, shape: tuple[int, ...], dim_order: tuple[int, ...]
) -> torch.Tensor:
    """Returns a dense tensor that is a view of the first bytes of `memory`."""
    count = math.prod(shape)
    if count == 0:
        return torch.empty(shape, dtype=dtype)
    return memory[: count * dtype.itemsize].view(dtype).as_strided(shape, strides_of(shape, dim_order))


class ValueReader:
    """Creates the values of a method from the tables and data of the program file."""

    def __init__(self, file: PTEFile, plan: p.ExecutionPlan, external: Mapping[str, Any]) -> None:
        self.file = file
        self.external = external
        # State without an initial value is initialized with zeros.
        self.arenas = [_zeros(plan, size) for size in plan.non_const_buffer_sizes]
        self.values = [self._read(value.val) for value in plan.values]

    def _read(self, value: p.KernelTypes) -> Slot:
        match value:
            case p.Tensor():
                return self._tensor(value)
            case p.IntList() | p.TensorList() | p.OptionalTensorList():
                return ListSlot(value.items)
            case p.DoubleList() | p.BoolList():
                return list(value.items)
            case p.Int():
                return value.int_val
            case p.Double():
                return value.double_val
            case p.Bool():
                return value.bool_val
            case p.String():
                return value.string_val
        return None

    def _tensor(self, tensor: p.Tensor) -> TensorSlot:
        dtype = DTYPES.get(tensor.scalar_type)
        if dtype is None:
            raise NotSupportedError(
                f"ATen mode does not support tensors of {tensor.scalar_type.name.lower()}"
            )
        sizes, order = tuple(tensor.sizes), tuple(tensor.dim_order)
        place = tensor.allocation_info
        data = self._data(tensor)
        memory = None
        if place is not None:
            nbytes = math.prod(sizes) * dtype.itemsize
            memory = self.arenas[place.memory_id][place.memory_offset : place.memory_offset + nbytes]
            if data is not None:
                memory[: data.numel()].copy_(data)
        source = memory if memory is not None else data
        if source is None:
            # The memory comes from an input or a result.
            shape = tuple(0 for _ in sizes) if tensor.shape_dynamism else sizes
            value = torch.zeros(shape, dtype=dtype)
        else:
            value = over_memory(source, dtype, sizes, order)
        return TensorSlot(
            dtype, sizes, order, tensor.shape_dynamism, memory, data is not None and place is None, value
        )

    def _data(self, tensor: p.Tensor) -> torch.Tensor | None:
        extra = tensor.extra_tensor_info
        if extra is not None and extra.location == p.TensorDataLocation.EXTERNAL:
            name = extra.fully_qualified_name or ""
            if name not in self.external:
                raise InvalidExternalDataError(
                    f"the external tensor {name!r} of the program is in none of the data files; pass its "
                    "file as data_path"
                )
            found = _bytes_tensor(self.external[name].data)
            wanted = math.prod(tensor.sizes) * DTYPES[tensor.scalar_type].itemsize
            if found.numel() < wanted:
                raise InvalidExternalDataError(
                    f"the external tensor {name!r} has {found.numel()} bytes in the data file, but needs "
                    f"{wanted}"
                )
            return found
        if not tensor.data_buffer_idx:
            return None
        source = self.file.constants if tensor.allocation_info is None else self.file.mutable_data
        return _bytes_tensor(source[tensor.data_buffer_idx])


def _zeros(plan: p.ExecutionPlan, size: int) -> torch.Tensor:
    try:
        return torch.zeros(size, dtype=torch.uint8)
    except (RuntimeError, MemoryError) as error:
        raise OutOfMemoryError(
            f"no memory for the {size} bytes of a planned memory of method {plan.name!r}"
        ) from error


def _bytes_tensor(data: Any) -> torch.Tensor:
    # The data are copied, because torch needs memory that is writable and aligned for every dtype.
    view = memoryview(data).cast("B")
    return (
        torch.frombuffer(bytearray(view), dtype=torch.uint8)
        if len(view)
        else torch.empty(0, dtype=torch.uint8)
    )


def from_numpy(array: np.ndarray) -> torch.Tensor:
    """Returns an array as a tensor, without a copy. Supports the dtypes of ml_dtypes."""
    if array.dtype.kind != "V" and array.dtype.name in _NUMPY_NAMES:
        return torch.from_numpy(array)
    bits = {1: np.uint8, 2: np.int16}[array.dtype.itemsize]
    return torch.from_numpy(array.view(bits)).view(getattr(torch, array.dtype.name))


def to_numpy(tensor: object) -> Any:
    """Returns a tensor as an array, without a copy.

    Other objects are returned unchanged, and so are tensors of a dtype that neither numpy nor ml_dtypes
    supports.
    """
    if not isinstance(tensor, torch.Tensor):
        return tensor
    name = str(tensor.dtype).removeprefix("torch.")
    if name in _NUMPY_NAMES:
        return tensor.numpy()
    try:
        dtype = getattr(importlib.import_module("ml_dtypes"), name)
    except (ImportError, AttributeError):
        return tensor
    return tensor.view({1: torch.uint8, 2: torch.int16}[tensor.dtype.itemsize]).numpy().view(dtype)


_NUMPY_NAMES = {
    name for dtype in DTYPES.values() if hasattr(np, name := str(dtype).removeprefix("torch."))
} | {"bool"}
