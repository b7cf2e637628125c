"""Operations on int8 and int4 with unpacked weights."""

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
    """The addition of a residual to the int8 result of a step.

    zero: the zero point of the residual. factors: the scales of result and residual divided by the scale of
        the sum.
    result: the quantization parameters of the sum.
    """

    zero: int
    factors: tuple[float, float]
    result: QuantParams


def int8_range(params: QuantParams) -> Int8Range:
    """Returns the parameters of int8 results, as a step stores them."""
    return Int8Range(zero_point=params.zero_point, low=params.quant_min, high=params.quant_max)


@dataclass(kw_only=True, eq=False)
class Int8Convolution(Convolution):
    """An int8 convolution or product, which later becomes an Int8Gemm or an Int8DepthwiseConv2d.

    row_scale, row_zero_point: the parameters of the input's rows if they are chosen at run time. weight:
    int8. scales: the factors of the sums of products by output channel, without the scales of rows. zero: the
    zero point of the input. result: the parameters of an int8 result; None for float32. sum: the addition of
    a residual to an int8 result.
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
    """int8 [outputs, inputs] with scales [outputs, groups], one for each group of inputs."""

    values: torch.Tensor
    scales: torch.Tensor
    bits: int

    @property
    def group(self) -> int:
        """The number of inputs in a group."""
        return self.values.shape[1] // self.scales.shape[1]

    def stored(self) -> torch.Tensor:
        """The numbers as flat int8; 4-bit numbers plus 8, two a byte, the even index in the high half."""
        if self.bits == 8:
            return self.values.flatten()
        halves = (self.values + 8).to(torch.uint8)
        return (halves[:, ::2] << 4 | halves[:, 1::2]).view(torch.int8).flatten()


@dataclass(kw_only=True, eq=False)
class WeightOnlyLinear(Convolution):
    """A linear layer of float32 inputs and 8-bit or 4-bit weights, which later becomes a WeightOnlyGemm."""

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
"""The group size of a linear layer with int8 inputs and 4-bit weights must be a multiple of this."""


@dataclass(kw_only=True, eq=False)
class Int4Linear(WeightOnlyLinear):
    """A linear layer of int8 inputs and 4-bit weights, which later becomes an Int4Gemm."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("residual", Effect.READS, in_place=True),
        Operand("row_scale", Effect.READS),
        Operand("row_zero_point", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    row_scale: Tensor
    row_zero_point: Tensor
