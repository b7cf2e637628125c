"""The tables of a `.ptd` file as dataclasses. Their fields are those of `schema/flat_tensor.fbs`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rushlight.format.dtypes import SCALAR_TYPE_OF
from rushlight.format.program import DataSegment, ScalarType


@dataclass
class TensorLayout:
    """The shape of a tensor. `dim_order` lists the dimensions from outermost to innermost."""

    scalar_type: ScalarType
    sizes: list[int]
    dim_order: list[int]

    @classmethod
    def from_tensor(cls, tensor: Any) -> TensorLayout:
        """Returns the layout of a torch tensor.

        Raises:
            ValueError: the tensor is neither row-major nor channels-last.
        """
        order = list(range(tensor.dim()))
        if not tensor.is_contiguous():
            order = [0, 2, 3, 1]
            if tensor.dim() != 4 or not tensor.permute(order).is_contiguous():
                raise ValueError(
                    f"a tensor has the sizes {list(tensor.shape)} and the strides {list(tensor.stride())}; "
                    "use a tensor that is row-major or channels-last"
                )
        return cls(SCALAR_TYPE_OF[str(tensor.dtype).removeprefix("torch.")], list(tensor.shape), order)


@dataclass
class NamedData:
    """A segment with a name. If it has no layout, the structure of its bytes is not known."""

    key: str
    segment_index: int
    tensor_layout: TensorLayout | None = None


@dataclass
class FlatTensor:
    """The root of a `.ptd` file."""

    version: int
    segments: list[DataSegment]
    named_data: list[NamedData]


__all__ = ["DataSegment", "FlatTensor", "NamedData", "TensorLayout"]
