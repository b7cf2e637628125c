"""Operations on int8 and int4 with unpacked weights, before their algorithm is selected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from rushlight.backends.cpu.plan.node import Convolution, RecurrentLayer
from rushlight.backends.cpu.plan.operation import Effect, Operand
from rushlight.backends.cpu.plan.tables import Int8Range
from rushlight.backends.cpu.plan.tensor import Tensor
from rushlight.ir.quantization import QuantParams


@dataclass(frozen=True)
class ResidualSum:
    """The addition of a residual to the int8 result of a step.

    Attributes:
        zero: the zero point of the residual.
        factors: the scale of the result and the scale of the residual, each divided by the scale of the sum.
        result: the quantization parameters of the sum.
    """

    zero: int
    factors: tuple[float, float]
    result: QuantParams


def int8_range(params: QuantParams) -> Int8Range:
    """Returns the zero point and the bounds of an int8 result as a table of the schema."""
    return Int8Range(zero_point=params.zero_point, low=params.quant_min, high=params.quant_max)


@dataclass(kw_only=True, eq=False)
class Int8Convolution(Convolution):
    """An int8 convolution or product, which a pass replaces by an operation of the schema.

    The weights are int8. The other attributes are those of `Convolution`.

    Attributes:
        row_scale: the scales of the rows of a dynamically quantized input; None for static quantization.
        row_zero_point: the zero points of these rows, or None.
        scales: [outputs], the factor of each sum of products, without the scales of rows.
        zero: the zero point of a statically quantized input.
        result: the quantization parameters of an int8 result; None for a float32 result.
        sum: the addition of a residual to an int8 result, or None.
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
    """An 8-bit or 4-bit matrix with one scale for each output and group of inputs.

    Attributes:
        values: int8 [outputs, inputs].
        scales: [outputs, groups].
        bits: 8 or 4.
    """

    values: torch.Tensor
    scales: torch.Tensor
    bits: int

    @property
    def group(self) -> int:
        """The number of inputs in a group."""
        return self.values.shape[1] // self.scales.shape[1]

    def stored(self) -> torch.Tensor:
        """Returns the numbers as flat int8.

        A byte contains two 4-bit numbers, each plus 8; the number with the even index is in the high half.
        """
        if self.bits == 8:
            return self.values.flatten()
        halves = (self.values + 8).to(torch.uint8)
        return (halves[:, ::2] << 4 | halves[:, 1::2]).view(torch.int8).flatten()


@dataclass(kw_only=True, eq=False)
class WeightOnlyLinear(Convolution):
    """A linear layer with float32 inputs and 8-bit or 4-bit weights; a pass makes it a WeightOnlyGemm."""

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


@dataclass(kw_only=True, eq=False)
class WeightOnlyRecurrentLayer(RecurrentLayer):
    """A recurrent layer with 8-bit or 4-bit recurrent weights."""

    grouped: GroupedWeight


INT4_BLOCK = 32
"""The group size of a linear layer with int8 inputs and 4-bit weights must be a multiple of this number."""


@dataclass(kw_only=True, eq=False)
class Int4Linear(WeightOnlyLinear):
    """A linear layer with int8 inputs and 4-bit weights, which a pass replaces by an Int4Gemm."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("residual", Effect.READS, in_place=True),
        Operand("row_scale", Effect.READS),
        Operand("row_zero_point", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    row_scale: Tensor
    row_zero_point: Tensor
