"""The tables of a payload as dataclasses, field by field as in `schema/xnnpack.fbs`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

NONE = 0xFFFFFFFF  # no value
NAMED = 0xFFFFFFFFFFFFFFFF  # offset of constants that are stored by name

INPUT = 1  # flags of values
OUTPUT = 2

TRANSPOSE_WEIGHTS = 1  # flags of nodes
ALIGN_CORNERS = 8
KEEP_DIMS = 0x40


class XNNDatatype(IntEnum):
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
    """No longer written."""


@dataclass
class PerChannelGroupQuant:
    """Scales per channel and group."""

    scale: list[float] = field(default_factory=list)
    channel_dim: int = 0
    group_size: int = 0
    scale_buffer_idx: int = 0
    num_scales: int = 0


@dataclass
class PerChannelQuant:
    """Scales per channel."""

    scale: list[float] = field(default_factory=list)
    channel_dim: int = 0
    scale_buffer_idx: int = 0
    num_scales: int = 0


@dataclass
class PerTokenDynamicQuant:
    """Quantized while running."""

    num_nonbatch_dims: int = 0


@dataclass
class PerTensorQuant:
    """One scale and zero point."""

    scale: float = 0.0
    zero_point: int = 0


XNNQuantParams = PerChannelQuant | PerTensorQuant | PerTokenDynamicQuant | PerChannelGroupQuant


@dataclass
class XNNTensorValue:
    """A value; dims are upper bounds where dynamic."""

    datatype: XNNDatatype = XNNDatatype.xnn_datatype_fp32
    num_dims: int = 0
    dims: list[int] = field(default_factory=list)
    constant_buffer_idx: int = 0
    external_id: int = 0
    flags: int = 0
    id_out: int = 0


@dataclass
class XNNQuantizedTensorValue:
    """A value that is quantized."""

    tensor_value: XNNTensorValue | None = None
    quant_params: XNNQuantParams | None = None


XValueUnion = XNNTensorValue | XNNQuantizedTensorValue


@dataclass
class XValue:
    """A value of either kind."""

    xvalue_union: XValueUnion | None = None


@dataclass
class Node1x1:
    """Nodes of several kinds."""

    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass
class XNNSoftmax(Node1x1):
    pass


@dataclass
class XNNSigmoid(Node1x1):
    pass


@dataclass
class XNNClamp(Node1x1):
    pass


@dataclass
class XNNFloor(Node1x1):
    pass


@dataclass
class XNNConvert(Node1x1):
    pass


@dataclass
class XNNGlobalAvgPooling2d(Node1x1):
    pass


@dataclass
class XNNSquareRoot(Node1x1):
    pass


@dataclass
class XNNCeiling(Node1x1):
    pass


@dataclass
class XNNHardswish(Node1x1):
    pass


@dataclass
class XNNNegate(Node1x1):
    pass


@dataclass
class XNNSquare(Node1x1):
    pass


@dataclass
class XNNAbs(Node1x1):
    pass


@dataclass
class XNNReciprocalSquareRoot(Node1x1):
    pass


@dataclass
class XNNLog(Node1x1):
    pass


@dataclass
class XNNGelu(Node1x1):
    pass


@dataclass
class XNNTanh(Node1x1):
    pass


@dataclass
class XNNExp(Node1x1):
    pass


@dataclass
class XNNSin(Node1x1):
    pass


@dataclass
class XNNCopy(Node1x1):
    pass


@dataclass
class XNNCos(Node1x1):
    pass


@dataclass
class Node2x1:
    """Nodes of several kinds."""

    input1_id: int = 0
    input2_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass
class XNNAdd(Node2x1):
    pass


@dataclass
class XNNDiv(Node2x1):
    pass


@dataclass
class XNNMinimum(Node2x1):
    pass


@dataclass
class XNNMultiply(Node2x1):
    pass


@dataclass
class XNNSubtract(Node2x1):
    pass


@dataclass
class XNNMaximum(Node2x1):
    pass


@dataclass
class XNNPReLU(Node2x1):
    pass


@dataclass
class XNNBatchMatrixMultiply(Node2x1):
    pass


@dataclass
class Concatenate:
    """Nodes of several kinds."""

    axis: int = 0
    input1_id: int = 0
    input2_id: int = 0
    input3_id: int = 0
    input4_id: int = 0
    output_id: int = 0
    flags: int = 0
    input5_id: int = 0


@dataclass
class XNNConcatenate2(Concatenate):
    pass


@dataclass
class XNNConcatenate3(Concatenate):
    pass


@dataclass
class XNNConcatenate4(Concatenate):
    pass


@dataclass
class XNNConcatenate5(Concatenate):
    pass


@dataclass
class Convolution:
    """Nodes of several kinds."""

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
class XNNConv2d(Convolution):
    pass


@dataclass
class XNNDepthwiseConv2d(Convolution):
    pass


@dataclass
class XNNConvTranspose2d(Convolution):
    pass


@dataclass
class Pooling:
    """Nodes of several kinds."""

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
class XNNAvgPooling2d(Pooling):
    pass


@dataclass
class XNNMaxPooling2d(Pooling):
    pass


@dataclass
class XNNStaticTranspose:
    """A node of this kind."""

    num_dims: int = 0
    perm: list[int] = field(default_factory=list)
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass
class XNNStaticResizeBilinear2D:
    """A node of this kind."""

    new_height: int = 0
    new_width: int = 0
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass
class XNNStaticConstantPad:
    """A node of this kind."""

    pre_paddings: list[int] = field(default_factory=list)
    post_paddings: list[int] = field(default_factory=list)
    padding_value: float = 0.0
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass
class XNNELU:
    """A node of this kind."""

    alpha: float = 0.0
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass
class XNNFullyConnected:
    """A node of this kind."""

    input1_id: int = 0
    filter_id: int = 0
    bias_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass
class XNNStaticReshape:
    """A node of this kind."""

    num_dims: int = 0
    new_shape: list[int] = field(default_factory=list)
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass
class XNNStaticSlice:
    """A node of this kind."""

    num_dims: int = 0
    offsets: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass
class XNNScaledDotProductAttention:
    """A node of this kind."""

    query_id: int = 0
    key_id: int = 0
    value_id: int = 0
    scale_id: int = 0
    mask_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass
class XNNArgMaxPooling2d:
    """A node of this kind."""

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
    """A node of this kind."""

    negative_slope: float = 0.0
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


XNodeUnion = (
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
class OutputMinMax:
    """Bounds that results are clamped to."""

    output_min: float = 0.0
    output_max: float = 0.0


@dataclass
class XNode:
    """An operator."""

    xnode_union: XNodeUnion | None = None
    debug_handle: int = 0
    output_min_max: OutputMinMax | None = None


@dataclass
class ConstantDataOffset:
    """Where constant data is: an offset, or a name if that is NAMED."""

    offset: int = 0
    size: int = 0
    named_key: str = ""


@dataclass
class XNNGraph:
    """The root."""

    version: str = ""
    xnodes: list[XNode] = field(default_factory=list)
    xvalues: list[XValue] = field(default_factory=list)
    num_externs: int = 0
    input_ids: list[int] = field(default_factory=list)
    output_ids: list[int] = field(default_factory=list)
    constant_data: list[ConstantDataOffset] = field(default_factory=list)
