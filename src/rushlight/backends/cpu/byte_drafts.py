"""Drafts of steps over int8."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch

from rushlight.backends.cpu.drafts import ConvolutionDraft
from rushlight.backends.cpu.graph import StepKind
from rushlight.backends.cpu.lowering import Lowering
from rushlight.backends.cpu.pack_bytes import byte_packing, byte_weights
from rushlight.ir.quantization import QuantParams

_WINOGRAD_PIXELS = 150
"""Of fewer pixels the transformed weights take longer to read than all products do."""


@dataclass(frozen=True)
class ByteSum:
    """The sum of a step's int8 result and its residual.

    zero: the residual's zero point. factors: the scales of both over that of the sum. result: how the sum is
    quantized.
    """

    zero: int
    factors: tuple[float, float]
    result: QuantParams


@dataclass(eq=False)
class ByteProductDraft(ConvolutionDraft):
    """A convolution or product over int8.

    operands: input, weights, offsets, residual, scales and zero points of rows, multipliers, output. weight:
    int8. scales: of sums of products, by output channel, but for those of rows. result: None for floats.
    sum: of the result, which is int8, and the residual.
    """

    scales: torch.Tensor = field(default_factory=lambda: torch.empty(0))
    zero: int = 0
    result: QuantParams | None = None
    sum: ByteSum | None = None

    def scale(self, scale: torch.Tensor, shift: torch.Tensor) -> None:
        self.scales = self.scales * scale
        self.bias = shift if self.bias is None else self.bias * scale + shift

    def finish(self, lowering: Lowering) -> None:
        """Writes the weights and numbers of the step."""
        out = QuantParams(1.0, 0) if self.result is None else self.result
        multipliers = lowering.constant((self.scales.double() / out.scale).float())
        offsets = None if self.bias is None else (self.bias.double() / out.scale).float()
        offset = None if offsets is None else lowering.constant(offsets)
        outputs, channels, *kernel = self.weight.shape
        window = [*kernel, *self.stride, *self.padding, *self.dilation]
        ends = [self.zero, out.zero_point, out.quant_min, out.quant_max]
        if self.is_depthwise:
            self.kind = StepKind.BYTE_DEPTHWISE
            filters = lowering.constant(self.weight.reshape(outputs, -1).t().flatten())
            self.operands = [self.operands[0], filters, offset, multipliers, self.out]
            self.ints = [*window, *ends]
            return
        target = lowering.options.target
        packing = byte_packing(self.weight, self.groups, target, is_winograd=self._is_winograd(lowering))
        self.operands[1] = lowering.constant(byte_weights(self.weight, self.groups, packing))
        self.operands[2] = offset
        self.operands[6] = multipliers
        sizes = [self.groups, channels, outputs // self.groups]
        self.ints = [*window, *sizes, *packing, *ends, *self.epilogue.ints()]
        self.floats = self.epilogue.floats()
        if self.sum is not None:
            end = self.sum.result
            self.ints += [self.sum.zero, end.zero_point, end.quant_min, end.quant_max]
            self.floats += self.sum.factors

    def _is_winograd(self, lowering: Lowering) -> bool:
        """Whether the step may be run by fewer products of int16."""
        _, channels, *kernel = self.weight.shape
        steps = (*self.stride, *self.dilation)
        pixels = math.prod(lowering.symbols.upper(size) for size in self.out.sizes[:3])
        return (
            self.result is not None
            and self.groups == 1
            and kernel == [3, 3]
            and all(step == 1 for step in steps)
            and channels % (2 * lowering.options.target.byte_lanes) == 0
            and pixels >= _WINOGRAD_PIXELS
        )


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


@dataclass(eq=False)
class ScaledProductDraft(ConvolutionDraft):
    """A product of floats with a matrix of 8- or 4-bit numbers.

    operands: input, numbers, bias, residual, scales, output; the first and the last as images.
    """

    grouped: GroupedWeight = field(default_factory=lambda: GroupedWeight(torch.empty(0), torch.empty(0), 8))

    def scale(self, scale: torch.Tensor, shift: torch.Tensor) -> None:
        old = self.grouped
        self.grouped = GroupedWeight(old.values, old.scales * scale[:, None], old.bits)
        self.bias = shift if self.bias is None else self.bias * scale + shift

    def finish(self, lowering: Lowering) -> None:
        """Writes the weights and numbers of the step."""
        outputs, inputs = self.grouped.values.shape
        self.operands[1] = lowering.constant(self.grouped.stored())
        self.operands[2] = None if self.bias is None else lowering.constant(self.bias.float())
        self.operands[4] = lowering.constant(self.grouped.scales.float().flatten())
        self.ints = [self.grouped.bits, inputs, outputs, self.grouped.group, *self.epilogue.ints()]
        self.floats = self.epilogue.floats()


NIBBLE_BLOCK = 32
"""Groups of a product of int8 rows with 4-bit numbers are multiples of it."""


@dataclass(eq=False)
class NibbleProductDraft(ScaledProductDraft):
    """A product of int8 rows with a matrix of 4-bit numbers.

    operands: rows, numbers, bias, residual, scales and zero points of rows, scales, sums of scaled numbers,
    output; the first and the last as images.
    """

    def finish(self, lowering: Lowering) -> None:
        """Writes the weights and numbers of the step."""
        numbers, scales = self.grouped.values, self.grouped.scales
        outputs, inputs = numbers.shape
        sums = (numbers.unflatten(1, (scales.shape[1], -1)).sum(2) * scales.double()).sum(1)
        self.operands[1] = lowering.constant(self.grouped.stored())
        self.operands[2] = None if self.bias is None else lowering.constant(self.bias.float())
        self.operands[6] = lowering.constant(scales.float().flatten())
        self.operands[7] = lowering.constant(sums.float())
        self.ints = [inputs, outputs, self.grouped.group, *self.epilogue.ints()]
        self.floats = self.epilogue.floats()
