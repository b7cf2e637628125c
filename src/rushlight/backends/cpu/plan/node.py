"""The nodes that a plan is made of before it is written, and operations that are not decided yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

import torch
from torch.fx import Node

from rushlight.backends.cpu.plan.operation import Effect, Operand, Operation
from rushlight.backends.cpu.plan.tables import BinaryFunction, Epilogue, UnaryFunction, Window
from rushlight.backends.cpu.plan.tensor import Storage, Tensor

INFINITY = float("inf")
Kind = TypeVar("Kind", bound=Operation[Tensor])


@dataclass(eq=False)
class PlanNode:
    """A step of a plan while the plan is made. Passes replace its operation.

    nodes: the graph's nodes that the step computes.
    """

    operation: Operation[Tensor]
    nodes: list[Node] = field(default_factory=list)

    def of(self, kind: type[Kind]) -> Kind | None:
        """The operation, if it is one of this kind."""
        return self.operation if isinstance(self.operation, kind) else None

    @property
    def output(self) -> Tensor:
        """The first operand that is written."""
        return self.operation.writes()[0]

    def reads(self) -> list[Storage]:
        """The storages of all operands that are read, also those of the same storage."""
        return [tensor.storage for tensor in self.operation.reads()]

    def writes(self) -> list[Storage]:
        """The storages of all operands that are written."""
        return [tensor.storage for tensor in self.operation.writes()]


def make_window(
    kernel: tuple[int, int],
    stride: tuple[int, int] = (1, 1),
    padding: tuple[int, int] = (0, 0),
    dilation: tuple[int, int] = (1, 1),
) -> Window:
    """The window of pairs of height and width."""
    return Window(
        kernel_h=kernel[0],
        kernel_w=kernel[1],
        stride_h=stride[0],
        stride_w=stride[1],
        pad_h=padding[0],
        pad_w=padding[1],
        dilation_h=dilation[0],
        dilation_w=dilation[1],
    )


def nodes_of(parts: Iterable[PlanNode]) -> list[Node]:
    """The graph's nodes that some steps compute, each once."""
    return list(dict.fromkeys(node for part in parts for node in part.nodes))


# ---- Operations whose algorithm or whose registers are chosen after all fusions: optimize/select.py ----


MOST_SOURCES = 8
"""Inputs of a convolution whose channels follow each other: Sources::kMost."""
LEAST_PIECE = 16
"""Channels of each of several inputs; products of fewer channels at a time are slower."""


@dataclass(kw_only=True, eq=False)
class Convolution(Operation[Tensor]):
    """A convolution, or a product with a constant matrix, which is one of 1 x 1. Images are [n, h, w, c].

    It becomes a Gemm, BlockGemm, Winograd, DepthwiseConv2d or GroupedConv2d.

    more: inputs whose channels follow the first's. weight: [outputs, channels of a group, kernel h, w].
    bias: [outputs]. stored: the type in which weights are kept in the file. rounds_input: whether inputs
    may be rounded to the type of the weights, as the program does. is_linear: whether it is a product of
    rows [1, 1, rows, k], as a linear layer's.
    """

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("residual", Effect.READS, in_place=True),
        Operand("more", Effect.READS, is_vector=True),
        Operand("output", Effect.WRITES),
    )

    input: Tensor
    residual: Tensor | None = None
    more: list[Tensor] = field(default_factory=list)
    output: Tensor
    weight: torch.Tensor
    bias: torch.Tensor | None = None
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    stored: torch.dtype = torch.float32
    rounds_input: bool = False
    is_linear: bool = False
    epilogue: Epilogue = field(default_factory=Epilogue)

    @property
    def kernel(self) -> tuple[int, int]:
        """Height and width of the weights."""
        return self.weight.shape[2], self.weight.shape[3]

    @property
    def window(self) -> Window:
        """The window that slides over the image."""
        return make_window(self.kernel, self.stride, self.padding, self.dilation)

    @property
    def is_depthwise(self) -> bool:
        """Whether each output channel reads one input channel of its own."""
        return self.groups > 1 and self.weight.shape[1] == 1 and self.weight.shape[0] == self.groups

    @property
    def has_small_groups(self) -> bool:
        """Whether it becomes a GroupedConv2d: in a product, its groups would leave vectors half empty.

        That pays with several taps: for each channel of a group, inputs are permuted once.
        """
        outputs, channels, height, width = self.weight.shape
        return (
            self.groups > 1
            and channels <= 8
            and outputs // self.groups <= 16
            and 4 <= height * width
            and height <= 16
            and not self.more
        )

    @property
    def is_pointwise(self) -> bool:
        """Whether it is a product of each pixel by itself, of one input and one group."""
        return (
            self.groups == 1
            and not self.more
            and self.weight.shape[2:] == (1, 1)
            and self.stride == (1, 1)
            and self.padding == (0, 0)
        )

    @property
    def clamps(self) -> bool:
        """Whether the epilogue clamps."""
        return self.epilogue.low > -INFINITY or self.epilogue.high < INFINITY

    @property
    def has_function(self) -> bool:
        """Whether the epilogue applies a function, which is its last part."""
        return self.epilogue.function is not UnaryFunction.NONE

    def scale(self, scale: torch.Tensor, shift: torch.Tensor) -> None:
        """Multiplies outputs by `scale` and adds `shift`, both by channel; outputs may be several sets."""
        sets = self.weight.shape[0] // len(scale)
        scale, shift = scale.repeat(sets), shift.repeat(sets)
        self.weight = self.weight * scale.view(-1, 1, 1, 1)
        self.bias = shift if self.bias is None else self.bias * scale + shift


@dataclass(kw_only=True, eq=False)
class RecurrentLayer(Operation[Tensor]):
    """A layer of an LSTM or GRU in one direction. weight: [columns of all gates, hidden], not packed."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("projected", Effect.READS),
        Operand("bias", Effect.READS),
        Operand("first_state", Effect.READS),
        Operand("first_cell", Effect.READS),
        Operand("output", Effect.WRITES),
        Operand("last_state", Effect.WRITES),
        Operand("last_cell", Effect.WRITES),
    )

    projected: Tensor
    bias: Tensor | None = None
    first_state: Tensor | None = None
    first_cell: Tensor | None = None
    output: Tensor
    last_state: Tensor
    last_cell: Tensor | None = None
    is_gru: bool
    hidden: int
    is_backward: bool
    weight: torch.Tensor
    stored: torch.dtype = torch.float32


@dataclass(frozen=True)
class ChainInstruction:
    """One operator of a chain.

    sources: inputs of the chain, from 0, or earlier results, of which -1 is the first.
    """

    function: UnaryFunction | BinaryFunction
    sources: tuple[int, ...]
    p: float = 0.0
    q: float = 0.0


@dataclass(kw_only=True, eq=False)
class Chain(Operation[Tensor]):
    """A chain of elementwise operators; the last instruction gives the output. It becomes an Elementwise."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("inputs", Effect.READS, in_place=True, is_vector=True),
        Operand("output", Effect.WRITES),
    )

    inputs: list[Tensor]
    output: Tensor
    code: list[ChainInstruction]
