"""The tables of a `.ptd` file as dataclasses. Their fields are those of `schema/flat_tensor.fbs`."""

from __future__ import annotations

from dataclasses import dataclass

from rushlight.format.program import DataSegment, ScalarType


@dataclass
class TensorLayout:
    """The shape of a tensor. `dim_order` lists the dimensions from outermost to innermost."""

    scalar_type: ScalarType
    sizes: list[int]
    dim_order: list[int]


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
