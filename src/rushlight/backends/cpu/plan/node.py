"""The steps of a plan under construction, and operations whose algorithm is not selected yet."""

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
    """A step of a plan under construction.

    Attributes:
        operation: the operation, which passes may replace.
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
    """Makes the window of a convolution or pooling from (height, width) pairs."""
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


MAX_SOURCES = 8
"""The maximum number of inputs of a convolution with several inputs; Sources::kMax in the runtime."""
MIN_PIECE = 16
"""The minimum number of channels of each of several inputs; products of fewer channels are slower."""


@dataclass(kw_only=True, eq=False)
class Convolution(Operation[Tensor]):
    """A convolution on images [n, h, w, c]. A product with a constant matrix is a 1 x 1 convolution.

    Passes replace it by a Gemm, BlockGemm, Winograd, DepthwiseConv2d or GroupedConv2d.

    Attributes:
        input: the first input.
        residual: a tensor that is added to the result, or None.
        more_inputs: further inputs, whose channels follow the channels of the first input.
        output: the result.
        weight: [outputs, channels of a group, kernel height, kernel width].
        bias: [outputs], or None.
        stride: (height, width).
        padding: (height, width).
        dilation: (height, width).
        groups: the number of groups.
        weight_dtype: the dtype in which the file stores the weights.
        rounds_input: whether inputs may be rounded to the dtype of the weights, as in the program.
        is_linear: whether it is a product of rows [1, 1, rows, k], as in a linear layer.
        epilogue: the clamp and the function that are applied to the result.
    """

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("residual", Effect.READS, in_place=True),
        Operand("more_inputs", Effect.READS, is_vector=True),
        Operand("output", Effect.WRITES),
    )

    input: Tensor
    residual: Tensor | None = None
    more_inputs: list[Tensor] = field(default_factory=list)
    output: Tensor
    weight: torch.Tensor
    bias: torch.Tensor | None = None
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    weight_dtype: torch.dtype = torch.float32
    rounds_input: bool = False
    is_linear: bool = False
    epilogue: Epilogue = field(default_factory=Epilogue)

    @property
    def kernel(self) -> tuple[int, int]:
        """The height and width of the weights."""
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
        """Whether it becomes a GroupedConv2d, because its groups are too small to fill the vectors of a Gemm.

        A GroupedConv2d permutes its inputs once for each channel of a group. This is faster only with several
        taps. With a dilation, its loop is slower than a Gemm whose groups fill a vector.
        """
        outputs, channels, height, width = self.weight.shape
        return (
            self.groups > 1
            and channels <= 8
            and outputs // self.groups <= (16 if self.dilation == (1, 1) else 8)
            and 4 <= height * width
            and height <= 16
            and not self.more_inputs
        )

    @property
    def is_pointwise(self) -> bool:
        """Whether it is a 1 x 1 convolution with stride 1, one input and one group."""
        return (
            self.groups == 1
            and not self.more_inputs
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
        """Multiplies outputs by a scale and adds a shift, by changing weights and bias.

        Args:
            scale: [channels]. If the convolution has several outputs for each channel, such as the phases of
                a transposed convolution, the scale is repeated.
            shift: [channels], repeated in the same way.
        """
        sets = self.weight.shape[0] // len(scale)
        scale, shift = scale.repeat(sets), shift.repeat(sets)
        self.weight = self.weight * scale.view(-1, 1, 1, 1)
        self.bias = shift if self.bias is None else self.bias * scale + shift


@dataclass(kw_only=True, eq=False)
class RecurrentLayer(Operation[Tensor]):
    """One layer of an LSTM or GRU in one direction.

    Attributes:
        projected: the products of the inputs of all time steps with the input weights.
        bias: the bias of the product of the state with `weight`, or None.
        first_state: the initial state; None for zeros.
        first_cell: the initial cell state of an LSTM; None for zeros.
        output: the states of all time steps.
        last_state: the last state.
        last_cell: the last cell state of an LSTM.
        is_gru: whether it is a GRU, and not an LSTM.
        hidden: the number of hidden units.
        is_backward: whether it runs from the last time step to the first.
        weight: the unpacked recurrent weights [columns of all gates, hidden].
        weight_dtype: the dtype in which the file stores the weights.
    """

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
    weight_dtype: torch.dtype = torch.float32


@dataclass(frozen=True)
class ChainInstruction:
    """One operator of a chain.

    Attributes:
        function: the elementwise function.
        sources: indices of inputs of the chain (0 or more), or of earlier results (-1 is the first result,
            -2 is the second).
        p: the first parameter of the function.
        q: the second parameter of the function.
    """

    function: UnaryFunction | BinaryFunction
    sources: tuple[int, ...]
    p: float = 0.0
    q: float = 0.0


@dataclass(kw_only=True, eq=False)
class Chain(Operation[Tensor]):
    """A chain of elementwise operators, which a pass replaces by an Elementwise.

    The result of the last instruction is the output.
    """

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("inputs", Effect.READS, in_place=True, is_vector=True),
        Operand("output", Effect.WRITES),
    )

    inputs: list[Tensor]
    output: Tensor
    code: list[ChainInstruction]
