"""Generated from schema/xnnpack.fbs by `python -m rushlight.codegen.generate`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias


class XNNDatatype(IntEnum):
    """The element type of a value, by XNNPACK's own names."""

    xnn_datatype_invalid = 0
    xnn_datatype_fp32 = 1
    xnn_datatype_fp16 = 2
    xnn_datatype_qint8 = 3
    xnn_datatype_quint8 = 4
    xnn_datatype_qint32 = 5
    xnn_datatype_qcint8 = 6
    xnn_datatype_qcint32 = 7
    xnn_datatype_qcint4 = 8
    xnn_datatype_qdint8 = 9
    xnn_datatype_qbint4 = 10
    xnn_datatype_qpint8 = 11
    xnn_datatype_int32 = 12
    xnn_datatype_pfp32 = 13
    xnn_datatype_bf16 = 14


@dataclass
class Buffer:
    """No longer written: constants are in the payload behind the tables, or in named data."""


@dataclass
class PerChannelGroupQuant:
    """One scale for each group of inputs of each output channel.
    Scales are in `scale`, or, if num_scales is not 0, in constant_data[scale_buffer_idx]: bfloat16,
    [channels, groups].
    """

    scale: list[float] = field(default_factory=list)
    channel_dim: int = 0
    group_size: int = 0
    scale_buffer_idx: int = 0
    num_scales: int = 0


@dataclass
class PerChannelQuant:
    """One scale for each channel.
    Scales are in `scale`, or, if num_scales is not 0, in constant_data[scale_buffer_idx]: float32,
    [channels].
    """

    scale: list[float] = field(default_factory=list)
    channel_dim: int = 0
    scale_buffer_idx: int = 0
    num_scales: int = 0


@dataclass
class PerTokenDynamicQuant:
    """The value is quantized while the program runs.
    The last num_nonbatch_dims dimensions together have one scale and one zero point.
    """

    num_nonbatch_dims: int = 0


@dataclass
class PerTensorQuant:
    """One scale and one zero point for the whole tensor."""

    scale: float = 0.0
    zero_point: int = 0


@dataclass
class XNNTensorValue:
    """A tensor."""

    datatype: XNNDatatype = XNNDatatype.xnn_datatype_invalid
    num_dims: int = 0
    dims: list[int] = field(default_factory=list)
    """Sizes; upper bounds where a dimension is dynamic."""
    constant_buffer_idx: int = 0
    """The index into XNNGraph.constant_data; 0 if the value is not constant."""
    external_id: int = 0
    """The position among the delegate's arguments; 2^32 - 1 if the value is internal."""
    flags: int = 0
    """1: external input, 2: external output."""
    id_out: int = 0
    """The value's id."""


XNNQuantParams: TypeAlias = PerChannelQuant | PerTensorQuant | PerTokenDynamicQuant | PerChannelGroupQuant


@dataclass
class XNNQuantizedTensorValue:
    """A quantized tensor."""

    tensor_value: XNNTensorValue | None = None
    quant_params: XNNQuantParams | None = None


XValueUnion: TypeAlias = XNNTensorValue | XNNQuantizedTensorValue


@dataclass
class XValue:
    """A value: a tensor, quantized or not."""

    xvalue_union: XValueUnion | None = None


@dataclass
class Node1x1:
    """An operator with one input and one output. Each ID is the ID of a value."""

    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass
class Node2x1:
    """An operator with two inputs and one output."""

    input1_id: int = 0
    input2_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass
class Concatenate:
    """A concatenation of two to five inputs along an axis. The ids of absent inputs are 2^32 - 1."""

    axis: int = 0
    input1_id: int = 0
    input2_id: int = 0
    input3_id: int = 0
    input4_id: int = 0
    output_id: int = 0
    flags: int = 0
    input5_id: int = 0


@dataclass
class Convolution:
    """A convolution of images in NHWC order.
    Padding, kernel, stride (subsampling) and dilation count pixels.
    """

    padding_top: int = 0
    padding_right: int = 0
    padding_bottom: int = 0
    padding_left: int = 0
    kernel_height: int = 0
    kernel_width: int = 0
    subsampling_height: int = 0
    subsampling_width: int = 0
    dilation_height: int = 0
    dilation_width: int = 0
    group_input_channels: int = 0
    group_output_channels: int = 0
    groups: int = 0
    adjustment_height: int = 0
    adjustment_width: int = 0
    input1_id: int = 0
    filter_id: int = 0
    bias_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass
class Pooling:
    """A reduction of windows of images in NHWC order. Padding, window, stride and dilation count pixels."""

    padding_top: int = 0
    padding_right: int = 0
    padding_bottom: int = 0
    padding_left: int = 0
    pooling_height: int = 0
    pooling_width: int = 0
    stride_height: int = 0
    stride_width: int = 0
    dilation_height: int = 0
    dilation_width: int = 0
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass
class XNNStaticTranspose:
    """A permutation: dimension i of the output is dimension perm[i] of the input."""

    num_dims: int = 0
    perm: list[int] = field(default_factory=list)
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass
class XNNStaticResizeBilinear2D:
    """Bilinear interpolation of images in NHWC order to new_height x new_width pixels."""

    new_height: int = 0
    new_width: int = 0
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass
class XNNStaticConstantPad:
    """Padding with a number, by pre_paddings before and post_paddings after each dimension."""

    pre_paddings: list[int] = field(default_factory=list)
    post_paddings: list[int] = field(default_factory=list)
    padding_value: float = 0.0
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass
class XNNELU:
    """x where x > 0, alpha * (exp(x) - 1) elsewhere."""

    alpha: float = 0.0
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass
class XNNFullyConnected:
    """input1 [.., k] times the transpose of filter [n, k], plus bias [n].
    The id of an absent bias is 2^32 - 1. Flag 1: filter is [k, n].
    """

    input1_id: int = 0
    filter_id: int = 0
    bias_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass
class XNNStaticReshape:
    """Changes the shape, and keeps the elements. A dimension of 0 is computed from the number of
    elements.
    """

    num_dims: int = 0
    new_shape: list[int] = field(default_factory=list)
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass
class XNNStaticSlice:
    """A slice: sizes[i] elements from offsets[i] of each dimension i."""

    num_dims: int = 0
    offsets: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass
class XNNScaledDotProductAttention:
    """softmax(query * scale @ transpose(key) + mask) @ value."""

    query_id: int = 0
    key_id: int = 0
    value_id: int = 0
    scale_id: int = 0
    mask_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass
class XNNArgMaxPooling2d:
    """The largest value of each window of an image in NHWC order, and its index."""

    padding_top: int = 0
    padding_right: int = 0
    padding_bottom: int = 0
    padding_left: int = 0
    pooling_height: int = 0
    pooling_width: int = 0
    input_id: int = 0
    output_value_id: int = 0
    output_index_id: int = 0
    flags: int = 0


@dataclass
class XNNLeakyReLU:
    """x where x > 0, negative_slope * x elsewhere."""

    negative_slope: float = 0.0
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass
class OutputMinMax:
    """Bounds that results are clamped to."""

    output_min: float = 0.0
    output_max: float = 0.0


@dataclass
class XNNAdd(Node2x1):
    """input1 + input2, with broadcasting."""


@dataclass
class XNNSoftmax(Node1x1):
    """Softmax over the last dimension."""


@dataclass
class XNNSigmoid(Node1x1):
    """1 / (1 + exp(-x))."""


@dataclass
class XNNClamp(Node1x1):
    """x clamped to the bounds of the node."""


@dataclass
class XNNConv2d(Convolution):
    """A convolution."""


@dataclass
class XNNDiv(Node2x1):
    """input1 / input2, with broadcasting."""


@dataclass
class XNNAvgPooling2d(Pooling):
    """The mean of each window."""


@dataclass
class XNNMinimum(Node2x1):
    """The smaller one of input1 and input2, with broadcasting."""


@dataclass
class XNNDepthwiseConv2d(Convolution):
    """A convolution with one group for each channel."""


@dataclass
class XNNMaxPooling2d(Pooling):
    """The largest value of each window."""


@dataclass
class XNNMultiply(Node2x1):
    """input1 * input2, with broadcasting."""


@dataclass
class XNNSubtract(Node2x1):
    """input1 - input2, with broadcasting."""


@dataclass
class XNNFloor(Node1x1):
    """The largest integer that is not above x."""


@dataclass
class XNNConvert(Node1x1):
    """A conversion to the datatype of the output: of floats, to quantized values, or back."""


@dataclass
class XNNGlobalAvgPooling2d(Node1x1):
    """The mean of all pixels of each channel."""


@dataclass
class XNNSquareRoot(Node1x1):
    """The square root."""


@dataclass
class XNNCeiling(Node1x1):
    """The smallest integer that is not below x."""


@dataclass
class XNNHardswish(Node1x1):
    """x * clamp(x + 3, 0, 6) / 6."""


@dataclass
class XNNMaximum(Node2x1):
    """The larger one of input1 and input2, with broadcasting."""


@dataclass
class XNNNegate(Node1x1):
    """-x."""


@dataclass
class XNNSquare(Node1x1):
    """x * x."""


@dataclass
class XNNAbs(Node1x1):
    """|x|."""


@dataclass
class XNNPReLU(Node2x1):
    """input1 where it is positive, input1 * input2 elsewhere; input2 has one slope for each channel."""


@dataclass
class XNNConcatenate2(Concatenate):
    """A concatenation of two inputs."""


@dataclass
class XNNConcatenate3(Concatenate):
    """A concatenation of three inputs."""


@dataclass
class XNNConcatenate4(Concatenate):
    """A concatenation of four inputs."""


@dataclass
class XNNBatchMatrixMultiply(Node2x1):
    """input1 [.., m, k] times input2 [.., k, n]."""


@dataclass
class XNNConcatenate5(Concatenate):
    """A concatenation of five inputs."""


@dataclass
class XNNConvTranspose2d(Convolution):
    """A transposed convolution."""


@dataclass
class XNNReciprocalSquareRoot(Node1x1):
    """1 / sqrt(x)."""


@dataclass
class XNNLog(Node1x1):
    """The natural logarithm."""


@dataclass
class XNNGelu(Node1x1):
    """x times the standard normal distribution function of x."""


@dataclass
class XNNTanh(Node1x1):
    """The hyperbolic tangent."""


@dataclass
class XNNExp(Node1x1):
    """The exponential function."""


@dataclass
class XNNSin(Node1x1):
    """The sine."""


@dataclass
class XNNCopy(Node1x1):
    """Copies the elements."""


@dataclass
class XNNCos(Node1x1):
    """The cosine."""


XNodeUnion: TypeAlias = (
    XNNAdd
    | XNNFullyConnected
    | XNNSoftmax
    | XNNSigmoid
    | XNNStaticTranspose
    | XNNClamp
    | XNNConv2d
    | XNNDiv
    | XNNStaticResizeBilinear2D
    | XNNStaticConstantPad
    | XNNAvgPooling2d
    | XNNMinimum
    | XNNDepthwiseConv2d
    | XNNMaxPooling2d
    | XNNMultiply
    | XNNSubtract
    | XNNFloor
    | XNNConvert
    | XNNGlobalAvgPooling2d
    | XNNStaticReshape
    | XNNArgMaxPooling2d
    | XNNSquareRoot
    | XNNCeiling
    | XNNHardswish
    | XNNLeakyReLU
    | XNNMaximum
    | XNNNegate
    | XNNSquare
    | XNNELU
    | XNNAbs
    | XNNPReLU
    | XNNConcatenate2
    | XNNConcatenate3
    | XNNConcatenate4
    | XNNStaticSlice
    | XNNScaledDotProductAttention
    | XNNBatchMatrixMultiply
    | XNNConcatenate5
    | XNNConvTranspose2d
    | XNNReciprocalSquareRoot
    | XNNLog
    | XNNGelu
    | XNNTanh
    | XNNExp
    | XNNSin
    | XNNCopy
    | XNNCos
)


@dataclass
class XNode:
    """An operator."""

    xnode_union: XNodeUnion | None = None
    debug_handle: int = 0
    output_min_max: OutputMinMax | None = None


@dataclass
class ConstantDataOffset:
    """Where constant data is.
    It is at `offset` from the constants' place that the header gives, or, if offset is 2^64 - 1, in
    the named
    data `named_key`.
    """

    offset: int = 0
    size: int = 0
    named_key: str = ""


@dataclass
class XNNGraph:
    """The root of a payload."""

    version: str = ""
    xnodes: list[XNode] = field(default_factory=list)
    xvalues: list[XValue] = field(default_factory=list)
    num_externs: int = 0
    input_ids: list[int] = field(default_factory=list)
    output_ids: list[int] = field(default_factory=list)
    constant_data: list[ConstantDataOffset] = field(default_factory=list)
    """Entry 0 is reserved."""
