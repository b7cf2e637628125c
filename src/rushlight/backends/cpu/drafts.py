"""Steps while a plan is being made: their numbers are written when nothing can be fused any more."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch.fx import Node

from rushlight.backends.cpu.graph import EFFECTS, StepKind
from rushlight.backends.cpu.tensor import Storage, Tensor

INFINITY = float("inf")

# UnaryOp and BinaryOp of runtime/kernels/optimized/tiles/tiles.h.
UNARY = {
    name: index
    for index, name in enumerate(
        "abs neg relu clamp leaky_relu hardsigmoid hardswish sqrt rsqrt reciprocal square cube affine "
        "reciprocal_square exp log tanh erf sigmoid silu gelu gelu_tanh".split()
    )
}
BINARY = {
    name: 100 + index for index, name in enumerate("add add_scaled sub mul div maximum minimum".split())
}


@dataclass(eq=False)
class Draft:
    """A step. `EFFECTS` says which of its operands are outputs."""

    kind: StepKind
    operands: list[Tensor | None]
    ints: list[int] = field(default_factory=list)
    floats: list[float] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)

    @property
    def out(self) -> Tensor:
        out = self.operands[-1]
        assert out is not None
        return out

    def reads(self) -> list[Storage]:
        """Of all operands that are read, also those of the same storage."""
        return [t.storage for t in self.operands[: EFFECTS[self.kind].first_output] if t is not None]

    def writes(self) -> list[Storage]:
        return [t.storage for t in self.operands[EFFECTS[self.kind].first_output :] if t is not None]


@dataclass
class Epilogue:
    """What a step does to its result: residual, clamp, one more operator, in this order."""

    low: float = -INFINITY
    high: float = INFINITY
    op: int = -1
    p: float = 0.0
    q: float = 0.0

    @property
    def clamps(self) -> bool:
        return self.low > -INFINITY or self.high < INFINITY

    def ints(self) -> list[int]:
        return [int(self.clamps), self.op]

    def floats(self) -> list[float]:
        return [self.low, self.high, self.p, self.q]


@dataclass(eq=False)
class ConvolutionDraft(Draft):
    """A convolution, or a product with a constant matrix, which is one of 1 x 1.

    operands: input, weights, bias, residual, more inputs whose channels follow the first's, output; images
    as [n, h, w, c]; weights and bias become constants when the draft is written.
    weight: [outputs, channels of a group, kernel h, kernel w].
    """

    weight: torch.Tensor = field(default_factory=lambda: torch.empty(0))
    bias: torch.Tensor | None = None
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    stored: torch.dtype = torch.float32
    """The type in which weights are kept in the file."""
    rounds: bool = False
    """Whether inputs may be rounded to the type of the weights, as the program does."""
    is_linear: bool = False
    """Whether it is a product of rows, [1, 1, rows, k], that one step each leads to the next."""
    epilogue: Epilogue = field(default_factory=Epilogue)

    @property
    def residual(self) -> Tensor | None:
        return self.operands[3]

    @property
    def more(self) -> list[Tensor | None]:
        """The inputs after the first."""
        return self.operands[4:-1]

    @property
    def is_depthwise(self) -> bool:
        return self.groups > 1 and self.weight.shape[1] == 1 and self.weight.shape[0] == self.groups

    def scale(self, scale: torch.Tensor, shift: torch.Tensor) -> None:
        """Each output times `scale`, plus `shift`, both by channel; outputs may be several sets of them."""
        sets = self.weight.shape[0] // len(scale)
        scale, shift = scale.repeat(sets), shift.repeat(sets)
        self.weight = self.weight * scale.view(-1, 1, 1, 1)
        self.bias = shift if self.bias is None else self.bias * scale + shift


@dataclass(eq=False)
class RecurrentDraft(Draft):
    """A layer of an LSTM or GRU in one direction, as runtime/backends/cpu/steps/recurrent.cpp has it.

    weight: [columns of all gates, hidden], packed when the draft is written.
    """

    weight: torch.Tensor = field(default_factory=lambda: torch.empty(0))
    stored: torch.dtype = torch.float32


@dataclass(frozen=True)
class Instruction:
    """One operator of a chain.

    sources: operands of the draft, from 0, or earlier results, of which -1 is the first.
    """

    op: int
    sources: tuple[int, ...]
    p: float = 0.0
    q: float = 0.0


@dataclass(eq=False)
class ElementwiseDraft(Draft):
    """A chain of elementwise operators; the last instruction gives the output."""

    code: list[Instruction] = field(default_factory=list)

    def numbers(self) -> tuple[list[int], list[float]]:
        """ints and floats of the step. Registers are reused once their last reader is past."""
        operands = len(self.operands) - 1
        last = {}
        for index, instruction in enumerate(self.code):
            for source in instruction.sources:
                last[source] = index
        free: list[int] = []
        registers = operands
        place: dict[int, int] = {}
        ints: list[int] = []
        floats: list[float] = []
        for index, instruction in enumerate(self.code):
            sources = [s if s >= 0 else place[s] for s in instruction.sources]
            for source in set(instruction.sources):
                if source < 0 and last[source] == index:
                    free.append(place[source])
            if free:
                register = free.pop()
            else:
                register, registers = registers, registers + 1
            place[-1 - index] = register
            ints += [instruction.op, register, sources[0], sources[-1]]
            floats += [instruction.p, instruction.q]
        return [operands, registers, *ints], floats
