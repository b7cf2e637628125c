// Generated from schema/xnnpack.fbs by `python -m rushlight.codegen.generate`.
// clang-format off
#pragma once

#include <cstdint>
#include <string_view>

#include "core/flatbuffer.h"

namespace rushlight::xnnpack::schema {

// The element type of a value, by XNNPACK's own names.
enum class XNNDatatype : int16_t {
  xnn_datatype_invalid = 0,
  xnn_datatype_fp32 = 1,
  xnn_datatype_fp16 = 2,
  xnn_datatype_qint8 = 3,
  xnn_datatype_quint8 = 4,
  xnn_datatype_qint32 = 5,
  xnn_datatype_qcint8 = 6,
  xnn_datatype_qcint32 = 7,
  xnn_datatype_qcint4 = 8,
  xnn_datatype_qdint8 = 9,
  xnn_datatype_qbint4 = 10,
  xnn_datatype_qpint8 = 11,
  xnn_datatype_int32 = 12,
  xnn_datatype_pfp32 = 13,
  xnn_datatype_bf16 = 14,
};

enum class XNNQuantParams : uint8_t {
  NONE = 0,
  PerChannelQuant = 1,
  PerTensorQuant = 2,
  PerTokenDynamicQuant = 3,
  PerChannelGroupQuant = 4,
};

enum class XValueUnion : uint8_t {
  NONE = 0,
  XNNTensorValue = 1,
  XNNQuantizedTensorValue = 2,
};

enum class XNodeUnion : uint8_t {
  NONE = 0,
  XNNAdd = 1,
  XNNFullyConnected = 2,
  XNNSoftmax = 3,
  XNNSigmoid = 4,
  XNNStaticTranspose = 5,
  XNNClamp = 6,
  XNNConv2d = 7,
  XNNDiv = 8,
  XNNStaticResizeBilinear2D = 9,
  XNNStaticConstantPad = 10,
  XNNAvgPooling2d = 11,
  XNNMinimum = 12,
  XNNDepthwiseConv2d = 13,
  XNNMaxPooling2d = 14,
  XNNMultiply = 15,
  XNNSubtract = 16,
  XNNFloor = 17,
  XNNConvert = 18,
  XNNGlobalAvgPooling2d = 19,
  XNNStaticReshape = 20,
  XNNArgMaxPooling2d = 21,
  XNNSquareRoot = 22,
  XNNCeiling = 23,
  XNNHardswish = 24,
  XNNLeakyReLU = 25,
  XNNMaximum = 26,
  XNNNegate = 27,
  XNNSquare = 28,
  XNNELU = 29,
  XNNAbs = 30,
  XNNPReLU = 31,
  XNNConcatenate2 = 32,
  XNNConcatenate3 = 33,
  XNNConcatenate4 = 34,
  XNNStaticSlice = 35,
  XNNScaledDotProductAttention = 36,
  XNNBatchMatrixMultiply = 37,
  XNNConcatenate5 = 38,
  XNNConvTranspose2d = 39,
  XNNReciprocalSquareRoot = 40,
  XNNLog = 41,
  XNNGelu = 42,
  XNNTanh = 43,
  XNNExp = 44,
  XNNSin = 45,
  XNNCopy = 46,
  XNNCos = 47,
};

// No longer written: constants are in the payload behind the tables, or in named data.
struct Buffer : flatbuffer::Table {
  using Table::Table;
};

// One scale for each group of inputs of each output channel.
// Scales are in `scale`, or, if num_scales is not 0, in constant_data[scale_buffer_idx]: bfloat16,
// [channels, groups].
struct PerChannelGroupQuant : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Vector<float> scale() const { return vector<float>(4); }
  bool has_scale() const { return field(4) != nullptr; }
  int32_t channel_dim() const { return scalar<int32_t>(6, 0); }
  int32_t group_size() const { return scalar<int32_t>(8, 0); }
  uint32_t scale_buffer_idx() const { return scalar<uint32_t>(12, 0); }
  uint32_t num_scales() const { return scalar<uint32_t>(14, 0); }
};

// One scale for each channel.
// Scales are in `scale`, or, if num_scales is not 0, in constant_data[scale_buffer_idx]: float32, [channels].
struct PerChannelQuant : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Vector<float> scale() const { return vector<float>(4); }
  bool has_scale() const { return field(4) != nullptr; }
  int32_t channel_dim() const { return scalar<int32_t>(6, 0); }
  uint32_t scale_buffer_idx() const { return scalar<uint32_t>(8, 0); }
  uint32_t num_scales() const { return scalar<uint32_t>(10, 0); }
};

// The value is quantized while the program runs.
// The last num_nonbatch_dims dimensions together have one scale and one zero point.
struct PerTokenDynamicQuant : flatbuffer::Table {
  using Table::Table;
  int32_t num_nonbatch_dims() const { return scalar<int32_t>(4, 0); }
};

// One scale and one zero point for the whole tensor.
struct PerTensorQuant : flatbuffer::Table {
  using Table::Table;
  float scale() const { return scalar<float>(4, 0.0f); }
  int32_t zero_point() const { return scalar<int32_t>(6, 0); }
};

// A tensor.
struct XNNTensorValue : flatbuffer::Table {
  using Table::Table;
  XNNDatatype datatype() const { return scalar<XNNDatatype>(4, XNNDatatype::xnn_datatype_invalid); }
  uint32_t num_dims() const { return scalar<uint32_t>(6, 0); }
  // Sizes; upper bounds where a dimension is dynamic.
  flatbuffer::Vector<uint32_t> dims() const { return vector<uint32_t>(8); }
  bool has_dims() const { return field(8) != nullptr; }
  // The index into XNNGraph.constant_data; 0 if the value is not constant.
  uint32_t constant_buffer_idx() const { return scalar<uint32_t>(10, 0); }
  // The position among the delegate's arguments; 2^32 - 1 if the value is internal.
  uint32_t external_id() const { return scalar<uint32_t>(12, 0); }
  // 1: external input, 2: external output.
  uint32_t flags() const { return scalar<uint32_t>(14, 0); }
  // The value's id.
  uint32_t id_out() const { return scalar<uint32_t>(16, 0); }
};

// A quantized tensor.
struct XNNQuantizedTensorValue : flatbuffer::Table {
  using Table::Table;
  XNNTensorValue tensor_value() const { return table<XNNTensorValue>(4); }
  bool has_tensor_value() const { return field(4) != nullptr; }
  flatbuffer::Table quant_params() const { return table<flatbuffer::Table>(8); }
  XNNQuantParams quant_params_type() const { return scalar<XNNQuantParams>(6, XNNQuantParams::NONE); }
  // The result is absent if quant_params_type() is another type.
  PerChannelQuant quant_params_as_PerChannelQuant() const { return PerChannelQuant(member(6, static_cast<uint8_t>(XNNQuantParams::PerChannelQuant))); }
  PerTensorQuant quant_params_as_PerTensorQuant() const { return PerTensorQuant(member(6, static_cast<uint8_t>(XNNQuantParams::PerTensorQuant))); }
  PerTokenDynamicQuant quant_params_as_PerTokenDynamicQuant() const { return PerTokenDynamicQuant(member(6, static_cast<uint8_t>(XNNQuantParams::PerTokenDynamicQuant))); }
  PerChannelGroupQuant quant_params_as_PerChannelGroupQuant() const { return PerChannelGroupQuant(member(6, static_cast<uint8_t>(XNNQuantParams::PerChannelGroupQuant))); }
};

// A value: a tensor, quantized or not.
struct XValue : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Table xvalue_union() const { return table<flatbuffer::Table>(6); }
  XValueUnion xvalue_union_type() const { return scalar<XValueUnion>(4, XValueUnion::NONE); }
  // The result is absent if xvalue_union_type() is another type.
  XNNTensorValue xvalue_union_as_XNNTensorValue() const { return XNNTensorValue(member(4, static_cast<uint8_t>(XValueUnion::XNNTensorValue))); }
  XNNQuantizedTensorValue xvalue_union_as_XNNQuantizedTensorValue() const { return XNNQuantizedTensorValue(member(4, static_cast<uint8_t>(XValueUnion::XNNQuantizedTensorValue))); }
};

// An operator with one input and one output. Each ID is the ID of a value.
struct Node1x1 : flatbuffer::Table {
  using Table::Table;
  uint32_t input_id() const { return scalar<uint32_t>(4, 0); }
  uint32_t output_id() const { return scalar<uint32_t>(6, 0); }
  uint32_t flags() const { return scalar<uint32_t>(8, 0); }
};

// An operator with two inputs and one output.
struct Node2x1 : flatbuffer::Table {
  using Table::Table;
  uint32_t input1_id() const { return scalar<uint32_t>(4, 0); }
  uint32_t input2_id() const { return scalar<uint32_t>(6, 0); }
  uint32_t output_id() const { return scalar<uint32_t>(8, 0); }
  uint32_t flags() const { return scalar<uint32_t>(10, 0); }
};

// A concatenation of two to five inputs along an axis. The ids of absent inputs are 2^32 - 1.
struct Concatenate : flatbuffer::Table {
  using Table::Table;
  uint32_t axis() const { return scalar<uint32_t>(4, 0); }
  uint32_t input1_id() const { return scalar<uint32_t>(6, 0); }
  uint32_t input2_id() const { return scalar<uint32_t>(8, 0); }
  uint32_t input3_id() const { return scalar<uint32_t>(10, 0); }
  uint32_t input4_id() const { return scalar<uint32_t>(12, 0); }
  uint32_t output_id() const { return scalar<uint32_t>(14, 0); }
  uint32_t flags() const { return scalar<uint32_t>(16, 0); }
  uint32_t input5_id() const { return scalar<uint32_t>(18, 0); }
};

// A convolution of images in NHWC order.
// Padding, kernel, stride (subsampling) and dilation count pixels.
struct Convolution : flatbuffer::Table {
  using Table::Table;
  uint32_t padding_top() const { return scalar<uint32_t>(4, 0); }
  uint32_t padding_right() const { return scalar<uint32_t>(6, 0); }
  uint32_t padding_bottom() const { return scalar<uint32_t>(8, 0); }
  uint32_t padding_left() const { return scalar<uint32_t>(10, 0); }
  uint32_t kernel_height() const { return scalar<uint32_t>(12, 0); }
  uint32_t kernel_width() const { return scalar<uint32_t>(14, 0); }
  uint32_t subsampling_height() const { return scalar<uint32_t>(16, 0); }
  uint32_t subsampling_width() const { return scalar<uint32_t>(18, 0); }
  uint32_t dilation_height() const { return scalar<uint32_t>(20, 0); }
  uint32_t dilation_width() const { return scalar<uint32_t>(22, 0); }
  uint32_t group_input_channels() const { return scalar<uint32_t>(24, 0); }
  uint32_t group_output_channels() const { return scalar<uint32_t>(26, 0); }
  uint32_t groups() const { return scalar<uint32_t>(28, 0); }
  uint32_t adjustment_height() const { return scalar<uint32_t>(30, 0); }
  uint32_t adjustment_width() const { return scalar<uint32_t>(32, 0); }
  uint32_t input1_id() const { return scalar<uint32_t>(34, 0); }
  uint32_t filter_id() const { return scalar<uint32_t>(36, 0); }
  uint32_t bias_id() const { return scalar<uint32_t>(38, 0); }
  uint32_t output_id() const { return scalar<uint32_t>(40, 0); }
  uint32_t flags() const { return scalar<uint32_t>(42, 0); }
};

// A reduction of windows of images in NHWC order. Padding, window, stride and dilation count pixels.
struct Pooling : flatbuffer::Table {
  using Table::Table;
  uint32_t padding_top() const { return scalar<uint32_t>(4, 0); }
  uint32_t padding_right() const { return scalar<uint32_t>(6, 0); }
  uint32_t padding_bottom() const { return scalar<uint32_t>(8, 0); }
  uint32_t padding_left() const { return scalar<uint32_t>(10, 0); }
  uint32_t pooling_height() const { return scalar<uint32_t>(12, 0); }
  uint32_t pooling_width() const { return scalar<uint32_t>(14, 0); }
  uint32_t stride_height() const { return scalar<uint32_t>(16, 0); }
  uint32_t stride_width() const { return scalar<uint32_t>(18, 0); }
  uint32_t dilation_height() const { return scalar<uint32_t>(20, 0); }
  uint32_t dilation_width() const { return scalar<uint32_t>(22, 0); }
  uint32_t input_id() const { return scalar<uint32_t>(24, 0); }
  uint32_t output_id() const { return scalar<uint32_t>(26, 0); }
  uint32_t flags() const { return scalar<uint32_t>(28, 0); }
};

// A permutation: dimension i of the output is dimension perm[i] of the input.
struct XNNStaticTranspose : flatbuffer::Table {
  using Table::Table;
  uint32_t num_dims() const { return scalar<uint32_t>(4, 0); }
  flatbuffer::Vector<uint32_t> perm() const { return vector<uint32_t>(6); }
  bool has_perm() const { return field(6) != nullptr; }
  uint32_t input_id() const { return scalar<uint32_t>(8, 0); }
  uint32_t output_id() const { return scalar<uint32_t>(10, 0); }
  uint32_t flags() const { return scalar<uint32_t>(12, 0); }
};

// Bilinear interpolation of images in NHWC order to new_height x new_width pixels.
struct XNNStaticResizeBilinear2D : flatbuffer::Table {
  using Table::Table;
  uint32_t new_height() const { return scalar<uint32_t>(4, 0); }
  uint32_t new_width() const { return scalar<uint32_t>(6, 0); }
  uint32_t input_id() const { return scalar<uint32_t>(8, 0); }
  uint32_t output_id() const { return scalar<uint32_t>(10, 0); }
  uint32_t flags() const { return scalar<uint32_t>(12, 0); }
};

// Padding with a number, by pre_paddings before and post_paddings after each dimension.
struct XNNStaticConstantPad : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Vector<uint32_t> pre_paddings() const { return vector<uint32_t>(4); }
  bool has_pre_paddings() const { return field(4) != nullptr; }
  flatbuffer::Vector<uint32_t> post_paddings() const { return vector<uint32_t>(6); }
  bool has_post_paddings() const { return field(6) != nullptr; }
  float padding_value() const { return scalar<float>(8, 0.0f); }
  uint32_t input_id() const { return scalar<uint32_t>(10, 0); }
  uint32_t output_id() const { return scalar<uint32_t>(12, 0); }
  uint32_t flags() const { return scalar<uint32_t>(14, 0); }
};

// x where x > 0, alpha * (exp(x) - 1) elsewhere.
struct XNNELU : flatbuffer::Table {
  using Table::Table;
  float alpha() const { return scalar<float>(4, 0.0f); }
  uint32_t input_id() const { return scalar<uint32_t>(6, 0); }
  uint32_t output_id() const { return scalar<uint32_t>(8, 0); }
  uint32_t flags() const { return scalar<uint32_t>(10, 0); }
};

// input1 [.., k] times the transpose of filter [n, k], plus bias [n].
// The id of an absent bias is 2^32 - 1. Flag 1: filter is [k, n].
struct XNNFullyConnected : flatbuffer::Table {
  using Table::Table;
  uint32_t input1_id() const { return scalar<uint32_t>(4, 0); }
  uint32_t filter_id() const { return scalar<uint32_t>(6, 0); }
  uint32_t bias_id() const { return scalar<uint32_t>(8, 0); }
  uint32_t output_id() const { return scalar<uint32_t>(10, 0); }
  uint32_t flags() const { return scalar<uint32_t>(12, 0); }
};

// Changes the shape, and keeps the elements. A dimension of 0 is computed from the number of elements.
struct XNNStaticReshape : flatbuffer::Table {
  using Table::Table;
  uint32_t num_dims() const { return scalar<uint32_t>(4, 0); }
  flatbuffer::Vector<uint32_t> new_shape() const { return vector<uint32_t>(6); }
  bool has_new_shape() const { return field(6) != nullptr; }
  uint32_t input_id() const { return scalar<uint32_t>(8, 0); }
  uint32_t output_id() const { return scalar<uint32_t>(10, 0); }
  uint32_t flags() const { return scalar<uint32_t>(12, 0); }
};

// A slice: sizes[i] elements from offsets[i] of each dimension i.
struct XNNStaticSlice : flatbuffer::Table {
  using Table::Table;
  uint32_t num_dims() const { return scalar<uint32_t>(4, 0); }
  flatbuffer::Vector<uint32_t> offsets() const { return vector<uint32_t>(6); }
  bool has_offsets() const { return field(6) != nullptr; }
  flatbuffer::Vector<uint32_t> sizes() const { return vector<uint32_t>(8); }
  bool has_sizes() const { return field(8) != nullptr; }
  uint32_t input_id() const { return scalar<uint32_t>(10, 0); }
  uint32_t output_id() const { return scalar<uint32_t>(12, 0); }
  uint32_t flags() const { return scalar<uint32_t>(14, 0); }
};

// softmax(query * scale @ transpose(key) + mask) @ value.
struct XNNScaledDotProductAttention : flatbuffer::Table {
  using Table::Table;
  uint32_t query_id() const { return scalar<uint32_t>(4, 0); }
  uint32_t key_id() const { return scalar<uint32_t>(6, 0); }
  uint32_t value_id() const { return scalar<uint32_t>(8, 0); }
  uint32_t scale_id() const { return scalar<uint32_t>(10, 0); }
  uint32_t mask_id() const { return scalar<uint32_t>(12, 0); }
  uint32_t output_id() const { return scalar<uint32_t>(14, 0); }
  uint32_t flags() const { return scalar<uint32_t>(16, 0); }
};

// The largest value of each window of an image in NHWC order, and its index.
struct XNNArgMaxPooling2d : flatbuffer::Table {
  using Table::Table;
  uint32_t padding_top() const { return scalar<uint32_t>(4, 0); }
  uint32_t padding_right() const { return scalar<uint32_t>(6, 0); }
  uint32_t padding_bottom() const { return scalar<uint32_t>(8, 0); }
  uint32_t padding_left() const { return scalar<uint32_t>(10, 0); }
  uint32_t pooling_height() const { return scalar<uint32_t>(12, 0); }
  uint32_t pooling_width() const { return scalar<uint32_t>(14, 0); }
  uint32_t input_id() const { return scalar<uint32_t>(16, 0); }
  uint32_t output_value_id() const { return scalar<uint32_t>(18, 0); }
  uint32_t output_index_id() const { return scalar<uint32_t>(20, 0); }
  uint32_t flags() const { return scalar<uint32_t>(22, 0); }
};

// x where x > 0, negative_slope * x elsewhere.
struct XNNLeakyReLU : flatbuffer::Table {
  using Table::Table;
  float negative_slope() const { return scalar<float>(4, 0.0f); }
  uint32_t input_id() const { return scalar<uint32_t>(6, 0); }
  uint32_t output_id() const { return scalar<uint32_t>(8, 0); }
  uint32_t flags() const { return scalar<uint32_t>(10, 0); }
};

// Bounds that results are clamped to.
struct OutputMinMax : flatbuffer::Table {
  using Table::Table;
  float output_min() const { return scalar<float>(4, 0.0f); }
  float output_max() const { return scalar<float>(6, 0.0f); }
};

// An operator.
struct XNode : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Table xnode_union() const { return table<flatbuffer::Table>(6); }
  XNodeUnion xnode_union_type() const { return scalar<XNodeUnion>(4, XNodeUnion::NONE); }
  // The result is absent if xnode_union_type() is another type.
  Node2x1 xnode_union_as_XNNAdd() const { return Node2x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNAdd))); }
  XNNFullyConnected xnode_union_as_XNNFullyConnected() const { return XNNFullyConnected(member(4, static_cast<uint8_t>(XNodeUnion::XNNFullyConnected))); }
  Node1x1 xnode_union_as_XNNSoftmax() const { return Node1x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNSoftmax))); }
  Node1x1 xnode_union_as_XNNSigmoid() const { return Node1x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNSigmoid))); }
  XNNStaticTranspose xnode_union_as_XNNStaticTranspose() const { return XNNStaticTranspose(member(4, static_cast<uint8_t>(XNodeUnion::XNNStaticTranspose))); }
  Node1x1 xnode_union_as_XNNClamp() const { return Node1x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNClamp))); }
  Convolution xnode_union_as_XNNConv2d() const { return Convolution(member(4, static_cast<uint8_t>(XNodeUnion::XNNConv2d))); }
  Node2x1 xnode_union_as_XNNDiv() const { return Node2x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNDiv))); }
  XNNStaticResizeBilinear2D xnode_union_as_XNNStaticResizeBilinear2D() const { return XNNStaticResizeBilinear2D(member(4, static_cast<uint8_t>(XNodeUnion::XNNStaticResizeBilinear2D))); }
  XNNStaticConstantPad xnode_union_as_XNNStaticConstantPad() const { return XNNStaticConstantPad(member(4, static_cast<uint8_t>(XNodeUnion::XNNStaticConstantPad))); }
  Pooling xnode_union_as_XNNAvgPooling2d() const { return Pooling(member(4, static_cast<uint8_t>(XNodeUnion::XNNAvgPooling2d))); }
  Node2x1 xnode_union_as_XNNMinimum() const { return Node2x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNMinimum))); }
  Convolution xnode_union_as_XNNDepthwiseConv2d() const { return Convolution(member(4, static_cast<uint8_t>(XNodeUnion::XNNDepthwiseConv2d))); }
  Pooling xnode_union_as_XNNMaxPooling2d() const { return Pooling(member(4, static_cast<uint8_t>(XNodeUnion::XNNMaxPooling2d))); }
  Node2x1 xnode_union_as_XNNMultiply() const { return Node2x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNMultiply))); }
  Node2x1 xnode_union_as_XNNSubtract() const { return Node2x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNSubtract))); }
  Node1x1 xnode_union_as_XNNFloor() const { return Node1x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNFloor))); }
  Node1x1 xnode_union_as_XNNConvert() const { return Node1x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNConvert))); }
  Node1x1 xnode_union_as_XNNGlobalAvgPooling2d() const { return Node1x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNGlobalAvgPooling2d))); }
  XNNStaticReshape xnode_union_as_XNNStaticReshape() const { return XNNStaticReshape(member(4, static_cast<uint8_t>(XNodeUnion::XNNStaticReshape))); }
  XNNArgMaxPooling2d xnode_union_as_XNNArgMaxPooling2d() const { return XNNArgMaxPooling2d(member(4, static_cast<uint8_t>(XNodeUnion::XNNArgMaxPooling2d))); }
  Node1x1 xnode_union_as_XNNSquareRoot() const { return Node1x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNSquareRoot))); }
  Node1x1 xnode_union_as_XNNCeiling() const { return Node1x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNCeiling))); }
  Node1x1 xnode_union_as_XNNHardswish() const { return Node1x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNHardswish))); }
  XNNLeakyReLU xnode_union_as_XNNLeakyReLU() const { return XNNLeakyReLU(member(4, static_cast<uint8_t>(XNodeUnion::XNNLeakyReLU))); }
  Node2x1 xnode_union_as_XNNMaximum() const { return Node2x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNMaximum))); }
  Node1x1 xnode_union_as_XNNNegate() const { return Node1x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNNegate))); }
  Node1x1 xnode_union_as_XNNSquare() const { return Node1x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNSquare))); }
  XNNELU xnode_union_as_XNNELU() const { return XNNELU(member(4, static_cast<uint8_t>(XNodeUnion::XNNELU))); }
  Node1x1 xnode_union_as_XNNAbs() const { return Node1x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNAbs))); }
  Node2x1 xnode_union_as_XNNPReLU() const { return Node2x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNPReLU))); }
  Concatenate xnode_union_as_XNNConcatenate2() const { return Concatenate(member(4, static_cast<uint8_t>(XNodeUnion::XNNConcatenate2))); }
  Concatenate xnode_union_as_XNNConcatenate3() const { return Concatenate(member(4, static_cast<uint8_t>(XNodeUnion::XNNConcatenate3))); }
  Concatenate xnode_union_as_XNNConcatenate4() const { return Concatenate(member(4, static_cast<uint8_t>(XNodeUnion::XNNConcatenate4))); }
  XNNStaticSlice xnode_union_as_XNNStaticSlice() const { return XNNStaticSlice(member(4, static_cast<uint8_t>(XNodeUnion::XNNStaticSlice))); }
  XNNScaledDotProductAttention xnode_union_as_XNNScaledDotProductAttention() const { return XNNScaledDotProductAttention(member(4, static_cast<uint8_t>(XNodeUnion::XNNScaledDotProductAttention))); }
  Node2x1 xnode_union_as_XNNBatchMatrixMultiply() const { return Node2x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNBatchMatrixMultiply))); }
  Concatenate xnode_union_as_XNNConcatenate5() const { return Concatenate(member(4, static_cast<uint8_t>(XNodeUnion::XNNConcatenate5))); }
  Convolution xnode_union_as_XNNConvTranspose2d() const { return Convolution(member(4, static_cast<uint8_t>(XNodeUnion::XNNConvTranspose2d))); }
  Node1x1 xnode_union_as_XNNReciprocalSquareRoot() const { return Node1x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNReciprocalSquareRoot))); }
  Node1x1 xnode_union_as_XNNLog() const { return Node1x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNLog))); }
  Node1x1 xnode_union_as_XNNGelu() const { return Node1x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNGelu))); }
  Node1x1 xnode_union_as_XNNTanh() const { return Node1x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNTanh))); }
  Node1x1 xnode_union_as_XNNExp() const { return Node1x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNExp))); }
  Node1x1 xnode_union_as_XNNSin() const { return Node1x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNSin))); }
  Node1x1 xnode_union_as_XNNCopy() const { return Node1x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNCopy))); }
  Node1x1 xnode_union_as_XNNCos() const { return Node1x1(member(4, static_cast<uint8_t>(XNodeUnion::XNNCos))); }
  uint32_t debug_handle() const { return scalar<uint32_t>(8, 0); }
  OutputMinMax output_min_max() const { return table<OutputMinMax>(10); }
  bool has_output_min_max() const { return field(10) != nullptr; }
};

// Where constant data is.
// It is at `offset` from the constants' place that the header gives, or, if offset is 2^64 - 1, in the named
// data `named_key`.
struct ConstantDataOffset : flatbuffer::Table {
  using Table::Table;
  uint64_t offset() const { return scalar<uint64_t>(4, 0); }
  uint64_t size() const { return scalar<uint64_t>(6, 0); }
  std::string_view named_key() const { return string(8); }
  bool has_named_key() const { return field(8) != nullptr; }
};

// The root of a payload.
struct XNNGraph : flatbuffer::Table {
  using Table::Table;
  std::string_view version() const { return string(4); }
  bool has_version() const { return field(4) != nullptr; }
  flatbuffer::Vector<XNode> xnodes() const { return vector<XNode>(6); }
  bool has_xnodes() const { return field(6) != nullptr; }
  flatbuffer::Vector<XValue> xvalues() const { return vector<XValue>(8); }
  bool has_xvalues() const { return field(8) != nullptr; }
  uint32_t num_externs() const { return scalar<uint32_t>(10, 0); }
  flatbuffer::Vector<uint32_t> input_ids() const { return vector<uint32_t>(12); }
  bool has_input_ids() const { return field(12) != nullptr; }
  flatbuffer::Vector<uint32_t> output_ids() const { return vector<uint32_t>(14); }
  bool has_output_ids() const { return field(14) != nullptr; }
  // Entry 0 is reserved.
  flatbuffer::Vector<ConstantDataOffset> constant_data() const { return vector<ConstantDataOffset>(20); }
  bool has_constant_data() const { return field(20) != nullptr; }
};

namespace descriptors {

inline constexpr flatbuffer::Field kBuffer[] = {
  {"storage", flatbuffer::Kind::Scalars, 1, false, 0},
};
inline constexpr flatbuffer::Field kPerChannelGroupQuant[] = {
  {"scale", flatbuffer::Kind::Scalars, 4, false, 0},
  {"channel_dim", flatbuffer::Kind::Scalar, 4, false, 0},
  {"group_size", flatbuffer::Kind::Scalar, 4, false, 0},
  {"scale_bf16", flatbuffer::Kind::Scalars, 2, false, 0},
  {"scale_buffer_idx", flatbuffer::Kind::Scalar, 4, false, 0},
  {"num_scales", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kPerChannelQuant[] = {
  {"scale", flatbuffer::Kind::Scalars, 4, false, 0},
  {"channel_dim", flatbuffer::Kind::Scalar, 4, false, 0},
  {"scale_buffer_idx", flatbuffer::Kind::Scalar, 4, false, 0},
  {"num_scales", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kPerTokenDynamicQuant[] = {
  {"num_nonbatch_dims", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kPerTensorQuant[] = {
  {"scale", flatbuffer::Kind::Scalar, 4, false, 0},
  {"zero_point", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kXNNTensorValue[] = {
  {"datatype", flatbuffer::Kind::Scalar, 2, false, 0},
  {"num_dims", flatbuffer::Kind::Scalar, 4, false, 0},
  {"dims", flatbuffer::Kind::Scalars, 4, false, 0},
  {"constant_buffer_idx", flatbuffer::Kind::Scalar, 4, false, 0},
  {"external_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"flags", flatbuffer::Kind::Scalar, 4, false, 0},
  {"id_out", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kXNNQuantizedTensorValue[] = {
  {"tensor_value", flatbuffer::Kind::Table, 4, false, 5},
  {"quant_params_type", flatbuffer::Kind::UnionTag, 1, false, 0},
  {"quant_params", flatbuffer::Kind::Union, 4, false, 0},
};
inline constexpr flatbuffer::Field kXValue[] = {
  {"xvalue_union_type", flatbuffer::Kind::UnionTag, 1, false, 1},
  {"xvalue_union", flatbuffer::Kind::Union, 4, false, 1},
};
inline constexpr flatbuffer::Field kNode1x1[] = {
  {"input_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"flags", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kNode2x1[] = {
  {"input1_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"input2_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"flags", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kConcatenate[] = {
  {"axis", flatbuffer::Kind::Scalar, 4, false, 0},
  {"input1_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"input2_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"input3_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"input4_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"flags", flatbuffer::Kind::Scalar, 4, false, 0},
  {"input5_id", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kConvolution[] = {
  {"padding_top", flatbuffer::Kind::Scalar, 4, false, 0},
  {"padding_right", flatbuffer::Kind::Scalar, 4, false, 0},
  {"padding_bottom", flatbuffer::Kind::Scalar, 4, false, 0},
  {"padding_left", flatbuffer::Kind::Scalar, 4, false, 0},
  {"kernel_height", flatbuffer::Kind::Scalar, 4, false, 0},
  {"kernel_width", flatbuffer::Kind::Scalar, 4, false, 0},
  {"subsampling_height", flatbuffer::Kind::Scalar, 4, false, 0},
  {"subsampling_width", flatbuffer::Kind::Scalar, 4, false, 0},
  {"dilation_height", flatbuffer::Kind::Scalar, 4, false, 0},
  {"dilation_width", flatbuffer::Kind::Scalar, 4, false, 0},
  {"group_input_channels", flatbuffer::Kind::Scalar, 4, false, 0},
  {"group_output_channels", flatbuffer::Kind::Scalar, 4, false, 0},
  {"groups", flatbuffer::Kind::Scalar, 4, false, 0},
  {"adjustment_height", flatbuffer::Kind::Scalar, 4, false, 0},
  {"adjustment_width", flatbuffer::Kind::Scalar, 4, false, 0},
  {"input1_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"filter_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"bias_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"flags", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kPooling[] = {
  {"padding_top", flatbuffer::Kind::Scalar, 4, false, 0},
  {"padding_right", flatbuffer::Kind::Scalar, 4, false, 0},
  {"padding_bottom", flatbuffer::Kind::Scalar, 4, false, 0},
  {"padding_left", flatbuffer::Kind::Scalar, 4, false, 0},
  {"pooling_height", flatbuffer::Kind::Scalar, 4, false, 0},
  {"pooling_width", flatbuffer::Kind::Scalar, 4, false, 0},
  {"stride_height", flatbuffer::Kind::Scalar, 4, false, 0},
  {"stride_width", flatbuffer::Kind::Scalar, 4, false, 0},
  {"dilation_height", flatbuffer::Kind::Scalar, 4, false, 0},
  {"dilation_width", flatbuffer::Kind::Scalar, 4, false, 0},
  {"input_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"flags", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kXNNStaticTranspose[] = {
  {"num_dims", flatbuffer::Kind::Scalar, 4, false, 0},
  {"perm", flatbuffer::Kind::Scalars, 4, false, 0},
  {"input_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"flags", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kXNNStaticResizeBilinear2D[] = {
  {"new_height", flatbuffer::Kind::Scalar, 4, false, 0},
  {"new_width", flatbuffer::Kind::Scalar, 4, false, 0},
  {"input_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"flags", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kXNNStaticConstantPad[] = {
  {"pre_paddings", flatbuffer::Kind::Scalars, 4, false, 0},
  {"post_paddings", flatbuffer::Kind::Scalars, 4, false, 0},
  {"padding_value", flatbuffer::Kind::Scalar, 4, false, 0},
  {"input_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"flags", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kXNNELU[] = {
  {"alpha", flatbuffer::Kind::Scalar, 4, false, 0},
  {"input_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"flags", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kXNNFullyConnected[] = {
  {"input1_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"filter_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"bias_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"flags", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kXNNStaticReshape[] = {
  {"num_dims", flatbuffer::Kind::Scalar, 4, false, 0},
  {"new_shape", flatbuffer::Kind::Scalars, 4, false, 0},
  {"input_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"flags", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kXNNStaticSlice[] = {
  {"num_dims", flatbuffer::Kind::Scalar, 4, false, 0},
  {"offsets", flatbuffer::Kind::Scalars, 4, false, 0},
  {"sizes", flatbuffer::Kind::Scalars, 4, false, 0},
  {"input_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"flags", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kXNNScaledDotProductAttention[] = {
  {"query_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"key_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"value_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"scale_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"mask_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"flags", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kXNNArgMaxPooling2d[] = {
  {"padding_top", flatbuffer::Kind::Scalar, 4, false, 0},
  {"padding_right", flatbuffer::Kind::Scalar, 4, false, 0},
  {"padding_bottom", flatbuffer::Kind::Scalar, 4, false, 0},
  {"padding_left", flatbuffer::Kind::Scalar, 4, false, 0},
  {"pooling_height", flatbuffer::Kind::Scalar, 4, false, 0},
  {"pooling_width", flatbuffer::Kind::Scalar, 4, false, 0},
  {"input_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output_value_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output_index_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"flags", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kXNNLeakyReLU[] = {
  {"negative_slope", flatbuffer::Kind::Scalar, 4, false, 0},
  {"input_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"flags", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kOutputMinMax[] = {
  {"output_min", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output_max", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kXNode[] = {
  {"xnode_union_type", flatbuffer::Kind::UnionTag, 1, false, 2},
  {"xnode_union", flatbuffer::Kind::Union, 4, false, 2},
  {"debug_handle", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output_min_max", flatbuffer::Kind::Table, 4, false, 23},
};
inline constexpr flatbuffer::Field kConstantDataOffset[] = {
  {"offset", flatbuffer::Kind::Scalar, 8, false, 0},
  {"size", flatbuffer::Kind::Scalar, 8, false, 0},
  {"named_key", flatbuffer::Kind::String, 4, false, 0},
};
inline constexpr flatbuffer::Field kXNNGraph[] = {
  {"version", flatbuffer::Kind::String, 4, false, 0},
  {"xnodes", flatbuffer::Kind::Tables, 4, false, 24},
  {"xvalues", flatbuffer::Kind::Tables, 4, false, 7},
  {"num_externs", flatbuffer::Kind::Scalar, 4, false, 0},
  {"input_ids", flatbuffer::Kind::Scalars, 4, false, 0},
  {"output_ids", flatbuffer::Kind::Scalars, 4, false, 0},
  {"constant_buffer", flatbuffer::Kind::Tables, 4, false, 0},
  {"mem_buffer_sizes", flatbuffer::Kind::Scalars, 4, false, 0},
  {"constant_data", flatbuffer::Kind::Tables, 4, false, 25},
};

inline constexpr flatbuffer::TableInfo kTables[] = {
  {"Buffer", kBuffer, 1, nullptr, 0},
  {"PerChannelGroupQuant", kPerChannelGroupQuant, 6, nullptr, 0},
  {"PerChannelQuant", kPerChannelQuant, 4, nullptr, 0},
  {"PerTokenDynamicQuant", kPerTokenDynamicQuant, 1, nullptr, 0},
  {"PerTensorQuant", kPerTensorQuant, 2, nullptr, 0},
  {"XNNTensorValue", kXNNTensorValue, 7, nullptr, 0},
  {"XNNQuantizedTensorValue", kXNNQuantizedTensorValue, 3, nullptr, 0},
  {"XValue", kXValue, 2, nullptr, 0},
  {"Node1x1", kNode1x1, 3, nullptr, 0},
  {"Node2x1", kNode2x1, 4, nullptr, 0},
  {"Concatenate", kConcatenate, 8, nullptr, 0},
  {"Convolution", kConvolution, 20, nullptr, 0},
  {"Pooling", kPooling, 13, nullptr, 0},
  {"XNNStaticTranspose", kXNNStaticTranspose, 5, nullptr, 0},
  {"XNNStaticResizeBilinear2D", kXNNStaticResizeBilinear2D, 5, nullptr, 0},
  {"XNNStaticConstantPad", kXNNStaticConstantPad, 6, nullptr, 0},
  {"XNNELU", kXNNELU, 4, nullptr, 0},
  {"XNNFullyConnected", kXNNFullyConnected, 5, nullptr, 0},
  {"XNNStaticReshape", kXNNStaticReshape, 5, nullptr, 0},
  {"XNNStaticSlice", kXNNStaticSlice, 6, nullptr, 0},
  {"XNNScaledDotProductAttention", kXNNScaledDotProductAttention, 7, nullptr, 0},
  {"XNNArgMaxPooling2d", kXNNArgMaxPooling2d, 10, nullptr, 0},
  {"XNNLeakyReLU", kXNNLeakyReLU, 4, nullptr, 0},
  {"OutputMinMax", kOutputMinMax, 2, nullptr, 0},
  {"XNode", kXNode, 4, nullptr, 0},
  {"ConstantDataOffset", kConstantDataOffset, 3, nullptr, 0},
  {"XNNGraph", kXNNGraph, 9, nullptr, 0},
};

inline constexpr uint16_t kXNNQuantParamsMembers[] = {2, 4, 3, 1};
inline constexpr uint16_t kXValueUnionMembers[] = {5, 6};
inline constexpr uint16_t kXNodeUnionMembers[] = {9, 17, 8, 8, 13, 8, 11, 9, 14, 15, 12, 9, 11, 12, 9, 9, 8, 8, 8, 18, 21, 8, 8, 8, 22, 9, 8, 8, 16, 8, 9, 10, 10, 10, 19, 20, 9, 10, 11, 8, 8, 8, 8, 8, 8, 8, 8};

inline constexpr flatbuffer::UnionInfo kUnions[] = {
  {"XNNQuantParams", kXNNQuantParamsMembers, 4},
  {"XValueUnion", kXValueUnionMembers, 2},
  {"XNodeUnion", kXNodeUnionMembers, 47},
};

}  // namespace descriptors

inline constexpr flatbuffer::Schema kXNNGraphSchema = {descriptors::kTables, descriptors::kUnions, 26, 4, "XN01"};

}  // namespace rushlight::xnnpack::schema
