"""The steps of a plan before it is written, and operations without a chosen algorithm."""

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
    """A step of a plan under construction. Passes replace its operation.

    nodes: the graph nodes that the step computes.
    """

    operation: Operation[Tensor]
    nodes: list[Node] = field(default_factory=list)

    def of(self, kind: type[Kind]) -> Kind | None:
        """Returns the operation if it is of this type; otherwise None."""
        return self.operation if isinstance(self.operation, kind) else None

    @property
    def output(self) -> Tensor:
        """The first operand that the operation writes."""
        return self.operation.writes()[0]

    def reads(self) -> list[Storage]:
        """Returns the storages of all operands that are read; a storage may occur several times."""
        return [tensor.storage for tensor in self.operation.reads()]

    def writes(self) -> list[Storage]:
        """Returns the storages of all operands that are written."""
        return [tensor.storage for tensor in self.operation.writes()]


def make_window(
    kernel: tuple[int, int],
    stride: tuple[int, int] = (1, 1),
    padding: tuple[int, int] = (0, 0),
    dilation: tuple[int, int] = (1, 1),
) -> Window:
    """Makes a window from (height, width) pairs."""
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
    """Returns the graph nodes that the steps compute, without duplicates."""
    return list(dict.fromkeys(node for part in parts for node in part.nodes))


# ---- Operations whose algorithm or registers are chosen after all fusions: see optimize/pipeline.py ----


MOST_SOURCES = 8
"""The maximum number of convolution inputs with consecutive channels: Sources::kMost."""
LEAST_PIECE = 16
"""The minimum number of channels of each input; products of fewer channels are slower."""


@dataclass(kw_only=True, eq=False)
class Convolution(Operation[Tensor]):
    """A convolution on images [n, h, w, c]; a product with a constant matrix is a 1 x 1 convolution.

    It later becomes a Gemm, BlockGemm, Winograd, DepthwiseConv2d or GroupedConv2d.

    more: further inputs, whose channels follow the channels of the first input. weight: [outputs, channels of
        a group,
    kernel h, w]. bias: [outputs]. stored: the dtype of the weights in the file. rounds_input: whether inputs
    may be rounded to the dtype of the weights, as in the program. is_linear: whether it is a product of rows
    [1, 1, rows, k], as in a linear layer.
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
        """Whether each output channel reads exactly one input channel, its own."""
        return self.groups > 1 and self.weight.shape[1] == 1 and self.weight.shape[0] == self.groups

    @property
    def has_small_groups(self) -> bool:
        """Whether it becomes a GroupedConv2d, because its small groups would leave vectors half empty.

        This is faster only with several taps: for each channel of a group, inputs are permuted once.
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
        """Whether it is a product of each pixel with a matrix, with one input and one group."""
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
        """Whether the epilogue applies a function; a function is always the last part of an epilogue."""
        return self.epilogue.function is not UnaryFunction.NONE

    def scale(self, scale: torch.Tensor, shift: torch.Tensor) -> None:
        """Multiplies outputs by `scale` and adds `shift`, both by channel (repeated for sets of outputs)."""
        sets = self.weight.shape[0] // len(scale)
        scale, shift = scale.repeat(sets), shift.repeat(sets)
        self.weight = self.weight * scale.view(-1, 1, 1, 1)
        self.bias = shift if self.bias is None else self.bias * scale + shift


@dataclass(kw_only=True, eq=False)
class RecurrentLayer(Operation[Tensor]):
    """One layer of an LSTM or GRU in one direction. weight: unpacked [columns of all gates, hidden]."""

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

    sources: inputs of the chain (0 or more), or earlier results (-1 is the first result).
    """

    function: UnaryFunction | BinaryFunction
    sources: tuple[int, ...]
    p: float = 0.0
    q: float = 0.0


@dataclass(kw_only=True, eq=False)
class Chain(Operation[Tensor]):
    """A chain of elementwise operators, later an Elementwise. The last instruction is the output."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("inputs", Effect.READS, in_place=True, is_vector=True),
        Operand("output", Effect.WRITES),
    )

    inputs: list[Tensor]
    output: Tensor
    code: list[ChainInstruction]
