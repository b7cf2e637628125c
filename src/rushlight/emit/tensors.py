"""Converts TensorSpecs to tensors of the file format."""

from __future__ import annotations

from dataclasses import replace

import torch

from rushlight.emit.errors import EmitError
from rushlight.format.dtypes import DTYPE_NAMES
from rushlight.format.program import (
    AllocationDetails,
    DeviceType,
    ExtraTensorInfo,
    ScalarType,
    Tensor,
    TensorShapeDynamism,
)
from rushlight.ir.spec import TensorSpec
from rushlight.ir.sym import upper_bound

SCALAR_TYPES: dict[torch.dtype, ScalarType] = {
    getattr(torch, name): scalar_type for scalar_type, name in DTYPE_NAMES.items()
}

LAYOUTS = {torch.strided: 0, torch.sparse_coo: 1}
MEMORY_FORMATS = {torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2}


def is_planned(spec: TensorSpec) -> bool:
    """Returns whether the tensor has planned memory."""
    return spec.mem_id is not None and spec.mem_offset is not None


def allocation_of(spec: TensorSpec) -> AllocationDetails | None:
    """Returns the position of the tensor in planned memory, or None."""
    if spec.mem_id is None or spec.mem_offset is None:
        return None
    return AllocationDetails(spec.mem_id, spec.mem_offset & 0xFFFFFFFF, spec.mem_offset >> 32)


def make_tensor(spec: TensorSpec, data_buffer_idx: int = 0, planned: bool = True) -> Tensor:
    """Returns the tensor value of a spec. A symbolic size becomes its upper bound, or 0 if it has no bound.

    Args:
        spec: the spec.
        data_buffer_idx: the index of the tensor's data; 0 means no data.
        planned: whether the tensor has the planned memory of the spec.

    Raises:
        EmitError: the file format does not support the dtype.
    """
    scalar_type = SCALAR_TYPES.get(spec.dtype)
    if scalar_type is None:
        raise EmitError(f"tensors of {spec.dtype} cannot be written to a program")
    info = spec.extra_tensor_info
    if spec.device != DeviceType.CPU:
        info = replace(
            info or ExtraTensorInfo(),
            device_type=DeviceType(spec.device),
            device_index=spec.device_index,
        )
    return Tensor(
        scalar_type=scalar_type,
        storage_offset=0,
        sizes=[upper_bound(dim) or 0 for dim in spec.shape],
        dim_order=[int(dim) for dim in spec.dim_order],
        requires_grad=spec.requires_grad,
        layout=LAYOUTS[spec.layout],
        data_buffer_idx=data_buffer_idx,
        allocation_info=allocation_of(spec) if planned else None,
        shape_dynamism=TensorShapeDynamism(int(spec.shape_dynamism)),
        extra_tensor_info=info,
    )


def empty_tensor(dtype: torch.dtype) -> Tensor:
    """Returns a tensor without elements, for a result that no instruction reads."""
    return Tensor(SCALAR_TYPES[dtype], 0, [0], [0], False, 0, 0, None, TensorShapeDynamism.STATIC)
