"""Operations over int8 and int4 whose weights are not packed yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from rushlight.backends.cpu.plan.node import Convolution
from rushlight.backends.cpu.plan.operation import Effect, Operand
from rushlight.backends.cpu.plan.tables import Int8Range
from rushlight.backends.cpu.plan.tensor import Tensor
from rushlight.ir.quantization import QuantParams


@dataclass(frozen=True)
class ResidualSum:
    """The sum of a step's int8 result and its residual.

    zero: the residual's zero point. factors: the scales of both over that of the sum. result: how the sum is
    quantized.
    """

    zero: int
    factors: tuple[float, float]
    result: QuantParams


def int8_range(params: QuantParams) -> Int8Range:
    """What a step is told of its int8 results."""
    return Int8Range(zero_point=params.zero_point, low=params.quant_min, high=params.quant_max)


@dataclass(kw_only=True, eq=False)
class Int8Convolution(Convolution):
    """A convolution or product over int8. It becomes an Int8Gemm or an Int8DepthwiseConv2d.

    row_scale, row_zero_point: of the input's rows, if they are chosen while the plan runs. weight: int8.
    scales: of sums of products, by output channel, but for those of rows. zero: the input's zero point.
    result: None for float32. sum: of the result, which is int8, and the residual.
    """

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("residual", Effect.READS, in_place=True),
        Operand("row_scale", Effect.READS),
        Operand("row_zero_point", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    row_scale: Tensor | None = None
    row_zero_point: Tensor | None = None
    scales: torch.Tensor
    zero: int = 0
    result: QuantParams | None = None
    sum: ResidualSum | None = None

    def scale(self, scale: torch.Tensor, shift: torch.Tensor) -> None:
        """Multiplies each output channel by a scale and adds a shift; both are float32 [channels]."""
        self.scales = self.scales * scale
        self.bias = shift if self.bias is None else self.bias * scale + shift


@dataclass(frozen=True)
class GroupedWeight:
    """int8 [outputs, inputs] with a scale for each group of inputs of an output; scales [outputs, groups]."""

    values: torch.Tensor
    scales: torch.Tensor
    bits: int

    @property
    def group(self) -> int:
        """Numbers of a group."""
        return self.values.shape[1] // self.scales.shape[1]

    def stored(self) -> torch.Tensor:
        """The numbers as int8, flat: of 4 bits two a byte, each plus 8, the even one in the high half."""
        if self.bits == 8:
            return self.values.flatten()
        halves = (self.values + 8).to(torch.uint8)
        return (halves[:, ::2] << 4 | halves[:, 1::2]).view(torch.int8).flatten()


@dataclass(kw_only=True, eq=False)
class WeightOnlyProduct(Convolution):
    """A product of float32 with a matrix of 8- or 4-bit numbers. It becomes a WeightOnlyGemm."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("residual", Effect.READS, in_place=True),
        Operand("output", Effect.WRITES),
    )

    grouped: GroupedWeight

    def scale(self, scale: torch.Tensor, shift: torch.Tensor) -> None:
        """Multiplies each output channel by a scale and adds a shift; both are float32 [channels]."""
        old = self.grouped
        self.grouped = GroupedWeight(old.values, old.scales * scale[:, None], old.bits)
        self.bias = shift if self.bias is None else self.bias * scale + shift


INT4_BLOCK = 32
"""Groups of a product of int8 rows with 4-bit numbers are multiples of it."""


@dataclass(kw_only=True, eq=False)
class Int4Product(WeightOnlyProduct):
    """A product of int8 rows with a matrix of 4-bit numbers. It becomes an Int4Gemm."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("residual", Effect.READS, in_place=True),
        Operand("row_scale", Effect.READS),
        Operand("row_zero_point", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    row_scale: Tensor
    row_zero_point: Tensor
