#include "backends/xnnpack/read_node.h"

namespace rushlight::xnnpack {
namespace {

// Payloads with larger windows, strides or paddings are treated as damaged.
constexpr uint32_t kMaxWindow = 1 << 16;

// Reads a table whose only values are input_id and output_id.
template <class Table>
void read_input_and_output(const Table& table, Node* node) {
  node->inputs[0] = table.input_id();
  node->num_inputs = 1;
  node->output = table.output_id();
  node->flags = table.flags();
}

Error read_list(const flatbuffer::Vector<uint32_t>& list, uint32_t rank, const char* what, uint32_t* target) {
  RL_REQUIRE(list.size() == rank && rank <= kMaxRank, InvalidProgram, "a node has %u %s for %u dimensions", list.size(),
             what, rank);
  for (uint32_t i = 0; i < rank; ++i) target[i] = list[i];
  return Error::Ok;
}

Error check(const PayloadWindow& window) {
  const uint32_t positive[] = {window.height,       window.width,           window.stride_height,
                               window.stride_width, window.dilation_height, window.dilation_width,
                               window.groups,       window.group_inputs,    window.group_outputs};
  const uint32_t any[] = {
      window.top, window.right, window.bottom, window.left, window.adjustment_height, window.adjustment_width};
  for (const uint32_t number : positive) {
    RL_REQUIRE(number >= 1 && number <= kMaxWindow, InvalidProgram,
               "a size, stride, dilation or channel count of a window is %u", number);
  }
  for (const uint32_t number : any) {
    RL_REQUIRE(number <= kMaxWindow, InvalidProgram, "the padding of a window is %u", number);
  }
  return Error::Ok;
}

// read() copies the fields of one kind of node, and checks them.

Error read(const schema::Node1x1& table, Node* node) {
  read_input_and_output(table, node);
  return Error::Ok;
}

Error read(const schema::Node2x1& table, Node* node) {
  node->inputs[0] = table.input1_id();
  node->inputs[1] = table.input2_id();
  node->num_inputs = 2;
  node->output = table.output_id();
  node->flags = table.flags();
  return Error::Ok;
}

Error read(const schema::Convolution& table, Node* node) {
  node->inputs[0] = table.input1_id();
  node->inputs[1] = table.filter_id();
  node->inputs[2] = table.bias_id();
  node->num_inputs = 3;
  node->output = table.output_id();
  node->flags = table.flags();
  PayloadWindow& window = node->window;
  window.top = table.padding_top();
  window.right = table.padding_right();
  window.bottom = table.padding_bottom();
  window.left = table.padding_left();
  window.height = table.kernel_height();
  window.width = table.kernel_width();
  window.stride_height = table.subsampling_height();
  window.stride_width = table.subsampling_width();
  window.dilation_height = table.dilation_height();
  window.dilation_width = table.dilation_width();
  window.group_inputs = table.group_input_channels();
  window.group_outputs = table.group_output_channels();
  window.groups = table.groups();
  window.adjustment_height = table.adjustment_height();
  window.adjustment_width = table.adjustment_width();
  return check(window);
}

Error read(const schema::Pooling& table, bool is_dilated, Node* node) {
  read_input_and_output(table, node);
  PayloadWindow& window = node->window;
  window.top = table.padding_top();
  window.right = table.padding_right();
  window.bottom = table.padding_bottom();
  window.left = table.padding_left();
  window.height = table.pooling_height();
  window.width = table.pooling_width();
  window.stride_height = table.stride_height();
  window.stride_width = table.stride_width();
  if (is_dilated) {
    window.dilation_height = table.dilation_height();
    window.dilation_width = table.dilation_width();
  }
  return check(window);
}

Error read(const schema::Concatenate& table, uint32_t count, Node* node) {
  const uint32_t ids[] = {table.input1_id(), table.input2_id(), table.input3_id(), table.input4_id(),
                          table.input5_id()};
  for (uint32_t i = 0; i < count; ++i) {
    node->inputs[i] = ids[i];
    RL_REQUIRE(ids[i] != kNone, InvalidProgram, "input %u of a concatenation is missing", i);
  }
  node->num_inputs = count;
  node->axis = table.axis();
  node->output = table.output_id();
  node->flags = table.flags();
  return Error::Ok;
}

Error read(const schema::XNNFullyConnected& table, Node* node) {
  node->inputs[0] = table.input1_id();
  node->inputs[1] = table.filter_id();
  node->inputs[2] = table.bias_id();
  node->num_inputs = 3;
  node->output = table.output_id();
  node->flags = table.flags();
  return Error::Ok;
}

Error read(const schema::XNNStaticTranspose& table, Node* node) {
  read_input_and_output(table, node);
  node->rank = table.num_dims();
  RL_TRY(read_list(table.perm(), node->rank, "permuted axes", node->first));
  uint32_t seen = 0;
  for (uint32_t i = 0; i < node->rank; ++i) {
    RL_REQUIRE(node->first[i] < node->rank, InvalidProgram,
               "a permutation contains axis %u of a tensor with %u dimensions", node->first[i], node->rank);
    seen |= 1u << node->first[i];
  }
  RL_REQUIRE(seen == (1u << node->rank) - 1, InvalidProgram, "a permutation contains an axis twice");
  return Error::Ok;
}

Error read(const schema::XNNStaticReshape& table, Node* node) {
  read_input_and_output(table, node);
  node->rank = table.num_dims();
  return read_list(table.new_shape(), node->rank, "sizes", node->first);
}

Error read(const schema::XNNStaticSlice& table, Node* node) {
  read_input_and_output(table, node);
  node->rank = table.num_dims();
  RL_TRY(read_list(table.offsets(), node->rank, "offsets", node->first));
  return read_list(table.sizes(), node->rank, "sizes", node->second);
}

Error read(const schema::XNNStaticConstantPad& table, Node* node) {
  read_input_and_output(table, node);
  node->rank = table.pre_paddings().size();
  RL_TRY(read_list(table.pre_paddings(), node->rank, "paddings before", node->first));
  RL_TRY(read_list(table.post_paddings(), node->rank, "paddings after", node->second));
  node->number = table.padding_value();
  return Error::Ok;
}

Error read(const schema::XNNStaticResizeBilinear2D& table, Node* node) {
  read_input_and_output(table, node);
  node->height = table.new_height();
  node->width = table.new_width();
  RL_REQUIRE(node->height - 1 < kMaxWindow && node->width - 1 < kMaxWindow, InvalidProgram,
             "the new size of a resized image is invalid: %u x %u", node->height, node->width);
  return Error::Ok;
}

Error read(const schema::XNNELU& table, Node* node) {
  read_input_and_output(table, node);
  node->number = table.alpha();
  return Error::Ok;
}

Error read(const schema::XNNLeakyReLU& table, Node* node) {
  read_input_and_output(table, node);
  node->number = table.negative_slope();
  return Error::Ok;
}

Error read(const schema::XNNScaledDotProductAttention& table, Node* node) {
  const uint32_t ids[] = {table.query_id(), table.key_id(), table.value_id(), table.scale_id(), table.mask_id()};
  for (uint32_t i = 0; i < 5; ++i) node->inputs[i] = ids[i];
  node->num_inputs = 5;
  node->output = table.output_id();
  node->flags = table.flags();
  return Error::Ok;
}

Error read_fields(const schema::XNode& table, Node* node) {
  switch (node->kind) {
#define RL_KIND(name) \
  case Kind::name:    \
    return read(table.xnode_union_as_##name(), node)
    RL_KIND(XNNSoftmax);
    RL_KIND(XNNSigmoid);
    RL_KIND(XNNClamp);
    RL_KIND(XNNFloor);
    RL_KIND(XNNConvert);
    RL_KIND(XNNGlobalAvgPooling2d);
    RL_KIND(XNNSquareRoot);
    RL_KIND(XNNCeiling);
    RL_KIND(XNNHardswish);
    RL_KIND(XNNNegate);
    RL_KIND(XNNSquare);
    RL_KIND(XNNAbs);
    RL_KIND(XNNReciprocalSquareRoot);
    RL_KIND(XNNLog);
    RL_KIND(XNNGelu);
    RL_KIND(XNNTanh);
    RL_KIND(XNNExp);
    RL_KIND(XNNSin);
    RL_KIND(XNNCopy);
    RL_KIND(XNNCos);
    RL_KIND(XNNAdd);
    RL_KIND(XNNDiv);
    RL_KIND(XNNMinimum);
    RL_KIND(XNNMultiply);
    RL_KIND(XNNSubtract);
    RL_KIND(XNNMaximum);
    RL_KIND(XNNPReLU);
    RL_KIND(XNNBatchMatrixMultiply);
    RL_KIND(XNNConv2d);
    RL_KIND(XNNDepthwiseConv2d);
    RL_KIND(XNNConvTranspose2d);
    RL_KIND(XNNFullyConnected);
    RL_KIND(XNNStaticTranspose);
    RL_KIND(XNNStaticReshape);
    RL_KIND(XNNStaticSlice);
    RL_KIND(XNNStaticConstantPad);
    RL_KIND(XNNStaticResizeBilinear2D);
    RL_KIND(XNNELU);
    RL_KIND(XNNLeakyReLU);
    RL_KIND(XNNScaledDotProductAttention);
#undef RL_KIND
    case Kind::XNNAvgPooling2d:
      return read(table.xnode_union_as_XNNAvgPooling2d(), false, node);
    case Kind::XNNMaxPooling2d:
      return read(table.xnode_union_as_XNNMaxPooling2d(), true, node);
    case Kind::XNNConcatenate2:
      return read(table.xnode_union_as_XNNConcatenate2(), 2, node);
    case Kind::XNNConcatenate3:
      return read(table.xnode_union_as_XNNConcatenate3(), 3, node);
    case Kind::XNNConcatenate4:
      return read(table.xnode_union_as_XNNConcatenate4(), 4, node);
    case Kind::XNNConcatenate5:
      return read(table.xnode_union_as_XNNConcatenate5(), 5, node);
    default:
      return fail(Error::NotSupported, "XnnpackBackend does not support nodes of kind %s", name_of(node->kind));
  }
}

}  // namespace

Error read_node(const schema::XNode& table, Node* node) {
  node->kind = table.xnode_union_type();
  node->debug_handle = table.debug_handle();
  if (const schema::OutputMinMax bounds = table.output_min_max()) {
    node->has_bounds = true;
    node->min = bounds.output_min();
    node->max = bounds.output_max();
    RL_REQUIRE(node->min <= node->max, InvalidProgram, "the bounds of the results of a %s are invalid: [%g, %g]",
               name_of(node->kind), static_cast<double>(node->min), static_cast<double>(node->max));
  }
  RL_TRY(read_fields(table, node));
  // Only the bias of a convolution or of a fully connected node may be missing.
  for (uint32_t i = 0; i < node->num_inputs; ++i) {
    const bool is_bias = i == 2 && (node->kind == Kind::XNNConv2d || node->kind == Kind::XNNDepthwiseConv2d ||
                                    node->kind == Kind::XNNConvTranspose2d || node->kind == Kind::XNNFullyConnected);
    RL_REQUIRE(node->inputs[i] != kNone || is_bias, InvalidProgram, "input %u of a %s is missing", i,
               name_of(node->kind));
  }
  return Error::Ok;
}

const char* name_of(Kind kind) {
  static constexpr const char* names[] = {
      "NONE",
      "XNNAdd",
      "XNNFullyConnected",
      "XNNSoftmax",
      "XNNSigmoid",
      "XNNStaticTranspose",
      "XNNClamp",
      "XNNConv2d",
      "XNNDiv",
      "XNNStaticResizeBilinear2D",
      "XNNStaticConstantPad",
      "XNNAvgPooling2d",
      "XNNMinimum",
      "XNNDepthwiseConv2d",
      "XNNMaxPooling2d",
      "XNNMultiply",
      "XNNSubtract",
      "XNNFloor",
      "XNNConvert",
      "XNNGlobalAvgPooling2d",
      "XNNStaticReshape",
      "XNNArgMaxPooling2d",
      "XNNSquareRoot",
      "XNNCeiling",
      "XNNHardswish",
      "XNNLeakyReLU",
      "XNNMaximum",
      "XNNNegate",
      "XNNSquare",
      "XNNELU",
      "XNNAbs",
      "XNNPReLU",
      "XNNConcatenate2",
      "XNNConcatenate3",
      "XNNConcatenate4",
      "XNNStaticSlice",
      "XNNScaledDotProductAttention",
      "XNNBatchMatrixMultiply",
      "XNNConcatenate5",
      "XNNConvTranspose2d",
      "XNNReciprocalSquareRoot",
      "XNNLog",
      "XNNGelu",
      "XNNTanh",
      "XNNExp",
      "XNNSin",
      "XNNCopy",
      "XNNCos",
  };
  const size_t index = static_cast<size_t>(kind);
  return index < sizeof(names) / sizeof(names[0]) ? names[index] : "unknown";
}

}  // namespace rushlight::xnnpack
