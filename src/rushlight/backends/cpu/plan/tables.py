"""Generated from schema/cpu_plan.fbs by `python -m rushlight.codegen.generate`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar, Generic, TypeVar

from rushlight.backends.cpu.plan.operation import Effect, Operand, Operation

V = TypeVar("V")


class StorageKind(IntEnum):
    """Where the bytes of a storage are."""

    ARENA = 0
    ARGUMENT = 1
    CONSTANT = 2
    STATE = 3


class UnaryFunction(IntEnum):
    """A float32 function of one number; p and q are its parameters."""

    NONE = -1
    ABS = 0
    NEG = 1
    RELU = 2
    CLAMP = 3
    LEAKY_RELU = 4
    HARDSIGMOID = 5
    HARDSWISH = 6
    SQRT = 7
    RSQRT = 8
    RECIPROCAL = 9
    SQUARE = 10
    CUBE = 11
    AFFINE = 12
    RECIPROCAL_SQUARE = 13
    EXP = 14
    LOG = 15
    TANH = 16
    ERF = 17
    SIGMOID = 18
    SILU = 19
    GELU = 20
    GELU_TANH = 21
    SIN = 22
    COS = 23
    LOG1P = 24
    EXPM1 = 25
    LOG2 = 26
    LOG10 = 27
    SOFTPLUS = 28
    MISH = 29
    ELU = 30
    FLOOR = 31
    CEIL = 32
    TRUNC = 33
    ROUND = 34
    SIGN = 35


class BinaryFunction(IntEnum):
    """A float32 function of two numbers; p is its parameter."""

    NONE = -1
    ADD = 0
    ADD_SCALED = 1
    SUB = 2
    MUL = 3
    DIV = 4
    MAXIMUM = 5
    MINIMUM = 6
    ATAN2 = 7


class Comparison(IntEnum):
    """A comparison (which gives bool), a logical operation, or arithmetic of integers."""

    EQUAL = 0
    NOT_EQUAL = 1
    LESS = 2
    LESS_EQUAL = 3
    GREATER = 4
    GREATER_EQUAL = 5
    AND = 6
    OR = 7
    XOR = 8
    ADD = 9
    SUB = 10
    MUL = 11


class Reduction(IntEnum):
    """What several numbers become."""

    SUM = 0
    MEAN = 1
    MAXIMUM = 2
    MINIMUM = 3


class Interpolation(IntEnum):
    """How images are resampled. With ALIGN_CORNERS the centres of the corners' pixels stay where they
    are.
    """

    NEAREST = 0
    BILINEAR = 1
    BILINEAR_ALIGN_CORNERS = 2
    BICUBIC = 3
    BICUBIC_ALIGN_CORNERS = 4


class QuantizationChoice(IntEnum):
    """How the range of numbers becomes a scale and a zero point.

    In the order of torch's choose_qparams, choose_qparams_symmetric and
    choose_qparams_per_token_asymmetric. The last
    one is choose_qparams_symmetric for each row.
    """

    ASYMMETRIC = 0
    SYMMETRIC = 1
    PER_TOKEN = 2
    PER_TOKEN_SYMMETRIC = 3


@dataclass(kw_only=True)
class Expression:
    """What a size, stride or offset is: operations on a stack, each followed by its operand if it has
    one.

    0 c: push c. 1 s: push symbol s. 2: add. 3: multiply. 4: floor division. 5: floor modulus. 6:
    largest. 7: least.
    """

    code: list[int] = field(default_factory=list)


@dataclass(kw_only=True)
class Symbol:
    """A size that is known when the delegate is called. The size of an argument equals factor * symbol +
    shift.

    The argument has the index `argument`. Its size is the size of dimension `axis`; for an int
    argument, `axis` is -1
    and the size is the value of the argument.
    """

    argument: int = 0
    axis: int = 0
    factor: int = 0
    shift: int = 0
    lower: int = 0
    upper: int = 0


@dataclass(kw_only=True)
class Storage:
    """A piece of memory. `bytes` is its size at the upper bounds of all symbols; it is not used for
    arguments.
    """

    kind: StorageKind = StorageKind.ARENA
    bytes: int = 0
    offset: int = 0
    index: int = 0
    name: str = ""


@dataclass(kw_only=True)
class Value:
    """A strided view of a storage, in elements. `offset`, `sizes` and `strides` are indices of
    expressions.
    """

    storage: int = 0
    dtype: int = 0
    offset: int = 0
    sizes: list[int] = field(default_factory=list)
    strides: list[int] = field(default_factory=list)


@dataclass(kw_only=True)
class Argument:
    """An argument of the delegate. Ints have no value."""

    value: int | None = None
    is_output: bool = False


@dataclass(kw_only=True)
class Window:
    """The window of a convolution or a pooling over [n, h, w, c]."""

    kernel_h: int = 1
    kernel_w: int = 1
    stride_h: int = 1
    stride_w: int = 1
    pad_h: int = 0
    pad_w: int = 0
    dilation_h: int = 1
    dilation_w: int = 1


@dataclass(kw_only=True)
class Epilogue:
    """What a step does to its float32 result after it has added the residual: a clamp, then a function."""

    low: float = float("-inf")
    high: float = float("inf")
    function: UnaryFunction = UnaryFunction.NONE
    p: float = 0.0
    q: float = 0.0


@dataclass(kw_only=True)
class Prologue:
    """What a step does to its float32 input before it: scale and shift by channel, which are operands,
    then a clamp.
    """

    low: float = float("-inf")
    high: float = float("inf")


@dataclass(kw_only=True)
class Int8Range:
    """Quantization parameters of an int8 result and its clamping range. The real value is (result -
    zero_point) * scale.
    """

    zero_point: int = 0
    low: int = -128
    high: int = 127


@dataclass(kw_only=True)
class Int8Sum:
    """The sum of an int8 result and an int8 residual. Each factor is the scale of an operand divided by
    the scale of the sum.
    """

    residual_zero_point: int = 0
    output: Int8Range = field(default_factory=Int8Range)
    factor: float = 0.0
    residual_factor: float = 0.0


@dataclass(kw_only=True)
class Int8Packing:
    """How int8 weights are packed: columns in a vector and in a panel, and numbers of a column that lie
    together.
    """

    lanes: int = 1
    panel: int = 1
    group: int = 1


@dataclass(kw_only=True)
class Pooling:
    """A pooling. divisor: of averages; 0 for the number of elements. counts_padding: these elements
    include padding.
    """

    window: Window = field(default_factory=Window)
    is_maximum: bool = False
    divisor: int = 0
    counts_padding: bool = False


@dataclass(kw_only=True)
class Instruction:
    """An operation of an elementwise chain, on float32 registers: `unary` of a, or `binary` of a and b."""

    unary: UnaryFunction = UnaryFunction.NONE
    binary: BinaryFunction = BinaryFunction.NONE
    target: int = 0
    a: int = 0
    b: int = 0
    p: float = 0.0
    q: float = 0.0


@dataclass(kw_only=True)
class BottleneckConvolution:
    """A convolution within a bottleneck: of one group, with packed weights."""

    window: Window = field(default_factory=Window)
    channels: int = 1
    outputs: int = 1
    epilogue: Epilogue = field(default_factory=Epilogue)


@dataclass(kw_only=True)
class BottleneckDepthwise:
    """A depthwise convolution within a bottleneck."""

    window: Window = field(default_factory=Window)
    epilogue: Epilogue = field(default_factory=Epilogue)


@dataclass(kw_only=True)
class Gemm(Operation[V], Generic[V]):
    """A convolution [n, h, w, c] -> [n, h, w, o] as an implicit GEMM; with a window of 1 x 1 a product
    with a matrix.
    """

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("weight", Effect.READS),
        Operand("bias", Effect.READS),
        Operand("residual", Effect.READS, in_place=True),
        Operand("prologue_scale", Effect.READS),
        Operand("prologue_shift", Effect.READS),
        Operand("more_inputs", Effect.READS, is_vector=True),
        Operand("output", Effect.WRITES),
    )

    input: V
    weight: V
    """Packed matrices, one for each group."""
    bias: V | None = None
    residual: V | None = None
    prologue_scale: V | None = None
    """[n, h, w, c]; the numbers of an image are the same for all of its pixels. Only with a prologue."""
    prologue_shift: V | None = None
    more_inputs: list[V] = field(default_factory=list)
    """Further inputs. Their channels follow the channels of the first input. Not with a prologue."""
    output: V
    window: Window = field(default_factory=Window)
    groups: int = 1
    channels: int = 1
    """Input channels of a group."""
    outputs: int = 1
    """Output channels of a group."""
    epilogue: Epilogue = field(default_factory=Epilogue)
    rounds_input: bool = False
    """Whether the input may be rounded to the type of the weights."""
    prologue: Prologue | None = None


@dataclass(kw_only=True)
class BlockGemm(Operation[V], Generic[V]):
    """A product of block floating-point numbers: int16 with a float32 scale for each block of a column."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("weight", Effect.READS),
        Operand("bias", Effect.READS),
        Operand("residual", Effect.READS, in_place=True),
        Operand("output", Effect.WRITES),
    )

    input: V
    weight: V
    """A packed matrix of int16 blocks."""
    bias: V | None = None
    residual: V | None = None
    output: V
    channels: int = 1
    outputs: int = 1
    blocks: int = 1
    """Blocks of a column."""
    epilogue: Epilogue = field(default_factory=Epilogue)


@dataclass(kw_only=True)
class Winograd(Operation[V], Generic[V]):
    """A convolution of 3 x 3 by Winograd's transforms F(m x m, 3 x 3), or F(2, 2) over even inputs at
    stride 2.
    """

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("weight", Effect.READS),
        Operand("bias", Effect.READS),
        Operand("residual", Effect.READS, in_place=True),
        Operand("more_inputs", Effect.READS, is_vector=True),
        Operand("output", Effect.WRITES),
    )

    input: V
    weight: V
    """Packed matrices, one for each point and group, or one of [channels, outputs] for each of the nine
    taps and each
    group, which are transformed at load.
    """
    bias: V | None = None
    residual: V | None = None
    more_inputs: list[V] = field(default_factory=list)
    """Further inputs. Their channels follow the channels of the first input."""
    output: V
    m: int = 2
    pad_h: int = 0
    pad_w: int = 0
    stride: int = 1
    channels: int = 1
    """Input channels of a group."""
    outputs: int = 1
    """Output channels of a group."""
    epilogue: Epilogue = field(default_factory=Epilogue)
    transforms_weight: bool = False
    """Whether the weights are as the program has them. Only at stride 1."""
    groups: int = 1


@dataclass(kw_only=True)
class DepthwiseConv2d(Operation[V], Generic[V]):
    """A depthwise convolution with one filter for each channel."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("weight", Effect.READS),
        Operand("bias", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    input: V
    weight: V
    """[kernel h, kernel w, c]."""
    bias: V | None = None
    output: V
    window: Window = field(default_factory=Window)
    epilogue: Epilogue = field(default_factory=Epilogue)


@dataclass(kw_only=True)
class GroupedConv2d(Operation[V], Generic[V]):
    """A convolution with few channels in each group."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("weight", Effect.READS),
        Operand("bias", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    input: V
    weight: V
    """[inputs of a group, kernel h, kernel w, outputs of all groups]."""
    bias: V | None = None
    output: V
    window: Window = field(default_factory=Window)
    groups: int = 1
    epilogue: Epilogue = field(default_factory=Epilogue)


@dataclass(kw_only=True)
class Bottleneck(Operation[V], Generic[V]):
    """A convolution, a depthwise convolution of its result and an optional pointwise convolution, a few
    rows at a time.

    Padding is the same on both sides.
    """

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("expand_weight", Effect.READS),
        Operand("expand_bias", Effect.READS),
        Operand("depthwise_weight", Effect.READS),
        Operand("depthwise_bias", Effect.READS),
        Operand("project_weight", Effect.READS),
        Operand("project_bias", Effect.READS),
        Operand("residual", Effect.READS, in_place=True),
        Operand("output", Effect.WRITES),
    )

    input: V
    expand_weight: V
    expand_bias: V | None = None
    depthwise_weight: V
    depthwise_bias: V | None = None
    project_weight: V | None = None
    project_bias: V | None = None
    residual: V | None = None
    output: V
    expand: BottleneckConvolution = field(default_factory=BottleneckConvolution)
    depthwise: BottleneckDepthwise = field(default_factory=BottleneckDepthwise)
    project: BottleneckConvolution | None = None
    """The product; it has a weight if it is there."""


@dataclass(kw_only=True)
class Pool2d(Operation[V], Generic[V]):
    """A pooling of [n, h, w, c]."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    input: V
    output: V
    pooling: Pooling = field(default_factory=Pooling)


@dataclass(kw_only=True)
class Elementwise(Operation[V], Generic[V]):
    """A chain of elementwise operators. The first registers hold the inputs. The last instruction writes
    the output.
    """

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("inputs", Effect.READS, in_place=True, is_vector=True),
        Operand("output", Effect.WRITES),
    )

    inputs: list[V] = field(default_factory=list)
    output: V
    registers: int = 1
    code: list[Instruction] = field(default_factory=list)


@dataclass(kw_only=True)
class Copy(Operation[V], Generic[V]):
    """A copy between tensors of one shape, in any order of dimensions."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    input: V
    output: V


@dataclass(kw_only=True)
class Convert(Operation[V], Generic[V]):
    """16-bit floats become float32, or float32 16-bit floats."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    input: V
    output: V


@dataclass(kw_only=True)
class Reduce(Operation[V], Generic[V]):
    """Sums, means or extremes: input [a.., r.., b], output [a.., b], where b is contiguous in both, or 1."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    input: V
    output: V
    reduction: Reduction = Reduction.SUM
    kept: int = 0
    """The number of dimensions a."""
    reduced: int = 0
    """The number of dimensions r."""


@dataclass(kw_only=True)
class Softmax(Operation[V], Generic[V]):
    """The softmax of rows, or its logarithm."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS, in_place=True),
        Operand("output", Effect.WRITES),
    )

    input: V
    output: V
    is_logarithm: bool = False


@dataclass(kw_only=True)
class Normalize(Operation[V], Generic[V]):
    """A layer norm of rows, or an RMS norm, which does not subtract the mean."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS, in_place=True),
        Operand("weight", Effect.READS),
        Operand("bias", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    input: V
    weight: V | None = None
    bias: V | None = None
    output: V
    length: int = 0
    """Elements of a row."""
    subtracts_mean: bool = True
    epsilon: float = 0.0
    divides_by_norm: bool = False
    """Whether the step divides each row by the larger of its Euclidean norm and epsilon. Only without
    mean and weight.
    """


@dataclass(kw_only=True)
class GroupNormStatistics(Operation[V], Generic[V]):
    """The statistics of a group norm over [n, h, w, c]: the result is input * scale + shift, both [n, c]."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("weight", Effect.READS),
        Operand("bias", Effect.READS),
        Operand("scale", Effect.WRITES),
        Operand("shift", Effect.WRITES),
    )

    input: V
    weight: V | None = None
    bias: V | None = None
    scale: V
    shift: V
    groups: int = 1
    channels: int = 1
    epsilon: float = 0.0


@dataclass(kw_only=True)
class Attention(Operation[V], Generic[V]):
    """Scaled dot product attention: query [b, h, t, d], key [b, g, s, d], value [b, g, s, e], output [b,
    h, t, e].

    h is a multiple of g. Last dimensions are contiguous, but for the masks'.
    """

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("query", Effect.READS),
        Operand("key", Effect.READS),
        Operand("value", Effect.READS),
        Operand("mask", Effect.READS),
        Operand("key_tail", Effect.READS),
        Operand("value_tail", Effect.READS),
        Operand("second_mask", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    query: V
    key: V
    value: V
    mask: V | None = None
    """[b, h, t, s]: float32 is added to scores, bool says where to look."""
    key_tail: V | None = None
    """Keys and values behind these, [b, g, r, d] and [b, g, r, e]. Only with a few queries."""
    value_tail: V | None = None
    second_mask: V | None = None
    """Another mask of float32. Only with a first one."""
    output: V
    scale: float = 1.0
    is_causal: bool = False
    """Whether a query sees keys up to its own place alone."""
    may_be_empty: bool = False
    """Whether the result of a query whose scores are all -infinity is zeros and not NaN; always with a
    bool mask.
    """


@dataclass(kw_only=True)
class MatMul(Operation[V], Generic[V]):
    """A batch of matrix products of two operands that are not constant: a [b0, b1, m, k], b [b0, b1, k,
    n].
    """

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("a", Effect.READS),
        Operand("b", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    a: V
    b: V
    output: V


@dataclass(kw_only=True)
class Gather(Operation[V], Generic[V]):
    """Rows of a table [rows, n] of float32 or 16-bit floats by indices [count] (int64)."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("table_of_rows", Effect.READS),
        Operand("indices", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    table_of_rows: V
    indices: V
    output: V
    wraps_negative: bool = False
    """Whether negative indices count from the table's end."""


@dataclass(kw_only=True)
class Take(Operation[V], Generic[V]):
    """Elements of a tensor at places along an axis: output[i][j] = input[i][indices[i][j]] for the last
    axis of a matrix.
    """

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("indices", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    input: V
    indices: V
    """Of the output's shape."""
    output: V
    axis: int = 0


@dataclass(kw_only=True)
class CumulativeSum(Operation[V], Generic[V]):
    """The cumulative sum along an axis. The sums are computed in double precision."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS, in_place=True),
        Operand("output", Effect.WRITES),
    )

    input: V
    output: V
    axis: int = 0


@dataclass(kw_only=True)
class Recurrent(Operation[V], Generic[V]):
    """A layer of an LSTM or a GRU in one direction; the products with its inputs are a step before."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("projected", Effect.READS),
        Operand("weight", Effect.READS),
        Operand("bias", Effect.READS),
        Operand("first_state", Effect.READS),
        Operand("first_cell", Effect.READS),
        Operand("output", Effect.WRITES),
        Operand("last_state", Effect.WRITES),
        Operand("last_cell", Effect.WRITES),
    )

    projected: V
    """[steps, batch, columns]; columns are the gates in blocks of units."""
    weight: V
    """Packed [hidden, columns]."""
    bias: V | None = None
    first_state: V | None = None
    """State and cell before the first step, [batch, hidden]; zeros if they are absent."""
    first_cell: V | None = None
    output: V
    """[steps, batch, hidden]."""
    last_state: V
    """State and cell (none of a GRU) after the last step."""
    last_cell: V | None = None
    is_gru: bool = False
    hidden: int = 1
    is_backward: bool = False
    """Whether the last step comes first."""


@dataclass(kw_only=True)
class Compare(Operation[V], Generic[V]):
    """Two tensors of one type and shape, compared or combined element by element."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("a", Effect.READS),
        Operand("b", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    a: V
    b: V
    output: V
    comparison: Comparison = Comparison.EQUAL


@dataclass(kw_only=True)
class Where(Operation[V], Generic[V]):
    """Elements of a where the condition (bool) holds, and of b elsewhere."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("condition", Effect.READS),
        Operand("a", Effect.READS),
        Operand("b", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    condition: V
    a: V
    b: V
    output: V


@dataclass(kw_only=True)
class Scatter(Operation[V], Generic[V]):
    """Slices of a tensor, written over at the places that `indices` [count] (int64) give along `axis`."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("source", Effect.READS),
        Operand("indices", Effect.READS),
        Operand("output", Effect.UPDATES),
    )

    source: V
    indices: V
    output: V
    axis: int = 0
    adds: bool = False
    """Whether slices of float32 are added to what is there, in the order of the indices."""


@dataclass(kw_only=True)
class Resize2d(Operation[V], Generic[V]):
    """[n, h, w, c] resampled to another height and width."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    input: V
    output: V
    interpolation: Interpolation = Interpolation.NEAREST
    scale_h: float = 1.0
    """Inputs for each output, down and across."""
    scale_w: float = 1.0


@dataclass(kw_only=True)
class Int8Gemm(Operation[V], Generic[V]):
    """An int8 convolution or GEMM with constant weights. The results are int8 or float32.

    A result is the sum of products times multiplier (and the row's scale) plus offset.
    """

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("weight", Effect.READS),
        Operand("offset", Effect.READS),
        Operand("residual", Effect.READS, in_place=True),
        Operand("row_scale", Effect.READS),
        Operand("row_zero_point", Effect.READS),
        Operand("multiplier", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    input: V
    weight: V
    """Packed int8 matrices, one for each group."""
    offset: V | None = None
    """float32 by output channel."""
    residual: V | None = None
    row_scale: V | None = None
    """Scales and zero points of the input's rows, [rows] or [1], where they are chosen while the plan
    runs.
    """
    row_zero_point: V | None = None
    multiplier: V
    """float32 by output channel."""
    output: V
    window: Window = field(default_factory=Window)
    groups: int = 1
    channels: int = 1
    """Input channels of a group."""
    outputs: int = 1
    """Output channels of a group."""
    packing: Int8Packing = field(default_factory=Int8Packing)
    input_zero_point: int = 0
    range: Int8Range = field(default_factory=Int8Range)
    """Of int8 results."""
    epilogue: Epilogue = field(default_factory=Epilogue)
    """Of float32 results."""
    sum: Int8Sum | None = None
    """Of int8 results with a residual."""


@dataclass(kw_only=True)
class Int8DepthwiseConv2d(Operation[V], Generic[V]):
    """A depthwise convolution over int8 with one filter for each channel. The input lies in the arena."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("weight", Effect.READS),
        Operand("offset", Effect.READS),
        Operand("multiplier", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    input: V
    weight: V
    """int8 [kernel h, kernel w, c]."""
    offset: V | None = None
    multiplier: V
    output: V
    window: Window = field(default_factory=Window)
    input_zero_point: int = 0
    range: Int8Range = field(default_factory=Int8Range)


@dataclass(kw_only=True)
class Int8GroupedConv2d(Operation[V], Generic[V]):
    """A grouped convolution over int8 with as many output as input channels in each group."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("weight", Effect.READS),
        Operand("offset", Effect.READS),
        Operand("multiplier", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    input: V
    weight: V
    """int8 [c, kernel h, kernel w, channels]."""
    offset: V | None = None
    multiplier: V
    output: V
    window: Window = field(default_factory=Window)
    channels: int = 4
    """Channels of a group: 4, 8 or 16."""
    input_zero_point: int = 0
    range: Int8Range = field(default_factory=Int8Range)


@dataclass(kw_only=True)
class Int8Pool2d(Operation[V], Generic[V]):
    """A pooling of int8 [n, h, w, c]. factor: the input's scale over the output's. A maximum keeps both
    as they are.
    """

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    input: V
    output: V
    pooling: Pooling = field(default_factory=Pooling)
    input_zero_point: int = 0
    range: Int8Range = field(default_factory=Int8Range)
    factor: float = 1.0


@dataclass(kw_only=True)
class Int8Mean(Operation[V], Generic[V]):
    """The mean of int8 [a, r, c] over r. factor: the input's scale over the output's."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    input: V
    output: V
    input_zero_point: int = 0
    range: Int8Range = field(default_factory=Int8Range)
    factor: float = 1.0


@dataclass(kw_only=True)
class Int8Binary(Operation[V], Generic[V]):
    """The sum of two int8 tensors, or their product.

    Factors of a sum are the scales of a and b over the output's; a product has the scales' product in
    a_factor.
    """

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("a", Effect.READS, in_place=True),
        Operand("b", Effect.READS, in_place=True),
        Operand("output", Effect.WRITES),
    )

    a: V
    b: V
    output: V
    multiplies: bool = False
    a_zero_point: int = 0
    b_zero_point: int = 0
    range: Int8Range = field(default_factory=Int8Range)
    a_factor: float = 0.0
    b_factor: float = 0.0


@dataclass(kw_only=True)
class Int8Lookup(Operation[V], Generic[V]):
    """A function of one int8 or uint8 tensor: the entry of a table of 256 that the bits of each number
    are the index of.
    """

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("entries", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    input: V
    entries: V
    output: V


@dataclass(kw_only=True)
class Quantize(Operation[V], Generic[V]):
    """float32 becomes int8."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    input: V
    output: V
    scale: float = 1.0
    range: Int8Range = field(default_factory=Int8Range)


@dataclass(kw_only=True)
class Dequantize(Operation[V], Generic[V]):
    """int8 becomes float32."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    input: V
    output: V
    scale: float = 1.0
    zero_point: int = 0


@dataclass(kw_only=True)
class DynamicQuantize(Operation[V], Generic[V]):
    """Rows [rows, k] of float32 become int8, by scales and zero points that are chosen while the plan
    runs.
    """

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("output", Effect.WRITES),
        Operand("scale", Effect.WRITES),
        Operand("zero_point", Effect.WRITES),
    )

    input: V
    output: V
    scale: V
    """Scales and zero points of each row [rows], or of all rows [1]."""
    zero_point: V
    choice: QuantizationChoice = QuantizationChoice.ASYMMETRIC
    low: int = -128
    high: int = 127
    epsilon: float = 0.0
    """The least scale."""


@dataclass(kw_only=True)
class WeightOnlyGemm(Operation[V], Generic[V]):
    """A product of float32 rows with a matrix of 8- or 4-bit numbers in groups, each with a scale."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("weight", Effect.READS),
        Operand("bias", Effect.READS),
        Operand("residual", Effect.READS, in_place=True),
        Operand("weight_scale", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    input: V
    weight: V
    """int8 [n, k], or two numbers a byte."""
    bias: V | None = None
    residual: V | None = None
    weight_scale: V
    """[n, groups]."""
    output: V
    bits: int = 8
    channels: int = 1
    outputs: int = 1
    group: int = 1
    """Numbers of a group."""
    epilogue: Epilogue = field(default_factory=Epilogue)


@dataclass(kw_only=True)
class WeightOnlyRecurrent(Operation[V], Generic[V]):
    """A Recurrent whose weights are 8- or 4-bit numbers in groups, each with a scale."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("projected", Effect.READS),
        Operand("weight", Effect.READS),
        Operand("bias", Effect.READS),
        Operand("weight_scale", Effect.READS),
        Operand("first_state", Effect.READS),
        Operand("first_cell", Effect.READS),
        Operand("output", Effect.WRITES),
        Operand("last_state", Effect.WRITES),
        Operand("last_cell", Effect.WRITES),
    )

    projected: V
    """[steps, batch, columns]; columns are the gates in blocks of units."""
    weight: V
    """int8 [columns, hidden], or two numbers a byte."""
    bias: V | None = None
    weight_scale: V
    """[columns, groups]."""
    first_state: V | None = None
    """State and cell before the first step, [batch, hidden]; zeros if they are absent."""
    first_cell: V | None = None
    output: V
    """[steps, batch, hidden]."""
    last_state: V
    """State and cell (none of a GRU) after the last step."""
    last_cell: V | None = None
    is_gru: bool = False
    hidden: int = 1
    is_backward: bool = False
    """Whether the last step comes first."""
    bits: int = 8
    group: int = 1
    """Numbers of a group."""


@dataclass(kw_only=True)
class Int4Gemm(Operation[V], Generic[V]):
    """A product of int8 rows with a matrix of 4-bit numbers in groups, each with a scale."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("input", Effect.READS),
        Operand("weight", Effect.READS),
        Operand("bias", Effect.READS),
        Operand("residual", Effect.READS, in_place=True),
        Operand("row_scale", Effect.READS),
        Operand("row_zero_point", Effect.READS),
        Operand("weight_scale", Effect.READS),
        Operand("weight_sum", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    input: V
    weight: V
    """[n, k], two numbers a byte."""
    bias: V | None = None
    residual: V | None = None
    row_scale: V
    row_zero_point: V
    weight_scale: V
    """[n, groups]."""
    weight_sum: V
    """The sum of each column's numbers times their scales, [n]."""
    output: V
    channels: int = 1
    outputs: int = 1
    group: int = 1
    """Numbers of a group."""
    epilogue: Epilogue = field(default_factory=Epilogue)


@dataclass(kw_only=True)
class QuantizedGather(Operation[V], Generic[V]):
    """Rows of a table of 8- or 4-bit numbers in groups, each with a scale, as float32."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = (
        Operand("table_of_rows", Effect.READS),
        Operand("indices", Effect.READS),
        Operand("table_scale", Effect.READS),
        Operand("output", Effect.WRITES),
    )

    table_of_rows: V
    """int8 [rows, n], or two numbers a byte."""
    indices: V
    table_scale: V
    """[rows, groups]."""
    output: V
    bits: int = 8
    rows: int = 1
    columns: int = 1
    group: int = 1
    """Numbers of a group."""


@dataclass(kw_only=True)
class Step:
    """One operation, in the order in which they run."""

    operation: Operation[int]
    debug_handle: int = 0


@dataclass(kw_only=True)
class Plan:
    """A whole plan. vector_floats and panel_floats say how constants are packed: floats in a vector,
    columns of a panel.
    """

    target: str = ""
    vector_floats: int = 0
    panel_floats: int = 0
    expressions: list[Expression] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)
    storages: list[Storage] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    arguments: list[Argument] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    arena_bytes: int = 0
