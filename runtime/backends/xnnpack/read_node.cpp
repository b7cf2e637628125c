#include "backends/xnnpack/read_node.h"

namespace rushlight::xnnpack {
namespace {

// Payloads with larger windows, strides or paddings are treated as damaged.
constexpr uint32_t kMaxWindow = 1 << 16;

void take(const schema::Node1x1& table, Node* node) {
  node->inputs[0] = table.input_id();
  node->num_inputs = 1;
  node->output = table.output_id();
  node->flags = table.flags();
}

void take(const schema::Node2x1& table, Node* node) {
  node->inputs[0] = table.input1_id();
  node->inputs[1] = table.input2_id();
  node->num_inputs = 2;
  node->output = table.output_id();
  node->flags = table.flags();
}

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

Error take(const schema::Convolution& table, Node* node) {
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

Error take(const schema::Pooling& table, bool is_dilated, Node* node) {
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

Error take(const schema::Concatenate& table, uint32_t count, Node* node) {
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
  switch (node->kind) {
#define RL_UNARY(name)                         \
  case Kind::name:                             \
    take(table.xnode_union_as_##name(), node); \
    break
    RL_UNARY(XNNSoftmax);
    RL_UNARY(XNNSigmoid);
    RL_UNARY(XNNClamp);
    RL_UNARY(XNNFloor);
    RL_UNARY(XNNConvert);
    RL_UNARY(XNNGlobalAvgPooling2d);
    RL_UNARY(XNNSquareRoot);
    RL_UNARY(XNNCeiling);
    RL_UNARY(XNNHardswish);
    RL_UNARY(XNNNegate);
    RL_UNARY(XNNSquare);
    RL_UNARY(XNNAbs);
    RL_UNARY(XNNReciprocalSquareRoot);
    RL_UNARY(XNNLog);
    RL_UNARY(XNNGelu);
    RL_UNARY(XNNTanh);
    RL_UNARY(XNNExp);
    RL_UNARY(XNNSin);
    RL_UNARY(XNNCopy);
    RL_UNARY(XNNCos);
    RL_UNARY(XNNAdd);
    RL_UNARY(XNNDiv);
    RL_UNARY(XNNMinimum);
    RL_UNARY(XNNMultiply);
    RL_UNARY(XNNSubtract);
    RL_UNARY(XNNMaximum);
    RL_UNARY(XNNPReLU);
    RL_UNARY(XNNBatchMatrixMultiply);
#undef RL_UNARY
    case Kind::XNNConv2d:
      RL_TRY(take(table.xnode_union_as_XNNConv2d(), node));
      break;
    case Kind::XNNDepthwiseConv2d:
      RL_TRY(take(table.xnode_union_as_XNNDepthwiseConv2d(), node));
      break;
    case Kind::XNNConvTranspose2d:
      RL_TRY(take(table.xnode_union_as_XNNConvTranspose2d(), node));
      break;
    case Kind::XNNAvgPooling2d:
      RL_TRY(take(table.xnode_union_as_XNNAvgPooling2d(), false, node));
      break;
    case Kind::XNNMaxPooling2d:
      RL_TRY(take(table.xnode_union_as_XNNMaxPooling2d(), true, node));
      break;
    case Kind::XNNConcatenate2:
      RL_TRY(take(table.xnode_union_as_XNNConcatenate2(), 2, node));
      break;
    case Kind::XNNConcatenate3:
      RL_TRY(take(table.xnode_union_as_XNNConcatenate3(), 3, node));
      break;
    case Kind::XNNConcatenate4:
      RL_TRY(take(table.xnode_union_as_XNNConcatenate4(), 4, node));
      break;
    case Kind::XNNConcatenate5:
      RL_TRY(take(table.xnode_union_as_XNNConcatenate5(), 5, node));
      break;
    case Kind::XNNFullyConnected: {
      const schema::XNNFullyConnected part = table.xnode_union_as_XNNFullyConnected();
      node->inputs[0] = part.input1_id();
      node->inputs[1] = part.filter_id();
      node->inputs[2] = part.bias_id();
      node->num_inputs = 3;
      node->output = part.output_id();
      node->flags = part.flags();
      break;
    }
    case Kind::XNNStaticTranspose: {
      const schema::XNNStaticTranspose part = table.xnode_union_as_XNNStaticTranspose();
      read_input_and_output(part, node);
      node->rank = part.num_dims();
      RL_TRY(read_list(part.perm(), node->rank, "permuted axes", node->first));
      uint32_t seen = 0;
      for (uint32_t i = 0; i < node->rank; ++i) {
        RL_REQUIRE(node->first[i] < node->rank, InvalidProgram,
                   "a permutation contains axis %u of a tensor with %u dimensions", node->first[i], node->rank);
        seen |= 1u << node->first[i];
      }
      RL_REQUIRE(seen == (1u << node->rank) - 1, InvalidProgram, "a permutation contains an axis twice");
      break;
    }
    case Kind::XNNStaticReshape: {
      const schema::XNNStaticReshape part = table.xnode_union_as_XNNStaticReshape();
      read_input_and_output(part, node);
      node->rank = part.num_dims();
      RL_TRY(read_list(part.new_shape(), node->rank, "sizes", node->first));
      break;
    }
    case Kind::XNNStaticSlice: {
      const schema::XNNStaticSlice part = table.xnode_union_as_XNNStaticSlice();
      read_input_and_output(part, node);
      node->rank = part.num_dims();
      RL_TRY(read_list(part.offsets(), node->rank, "offsets", node->first));
      RL_TRY(read_list(part.sizes(), node->rank, "sizes", node->second));
      break;
    }
    case Kind::XNNStaticConstantPad: {
      const schema::XNNStaticConstantPad part = table.xnode_union_as_XNNStaticConstantPad();
      read_input_and_output(part, node);
      node->rank = part.pre_paddings().size();
      RL_TRY(read_list(part.pre_paddings(), node->rank, "paddings before", node->first));
      RL_TRY(read_list(part.post_paddings(), node->rank, "paddings after", node->second));
      node->number = part.padding_value();
      break;
    }
    case Kind::XNNStaticResizeBilinear2D: {
      const schema::XNNStaticResizeBilinear2D part = table.xnode_union_as_XNNStaticResizeBilinear2D();
      read_input_and_output(part, node);
      node->height = part.new_height();
      node->width = part.new_width();
      RL_REQUIRE(node->height - 1 < kMaxWindow && node->width - 1 < kMaxWindow, InvalidProgram,
                 "the new size of a resized image is invalid: %u x %u", node->height, node->width);
      break;
    }
    case Kind::XNNELU:
      read_input_and_output(table.xnode_union_as_XNNELU(), node);
      node->number = table.xnode_union_as_XNNELU().alpha();
      break;
    case Kind::XNNLeakyReLU:
      read_input_and_output(table.xnode_union_as_XNNLeakyReLU(), node);
      node->number = table.xnode_union_as_XNNLeakyReLU().negative_slope();
      break;
    case Kind::XNNScaledDotProductAttention: {
      const schema::XNNScaledDotProductAttention part = table.xnode_union_as_XNNScaledDotProductAttention();
      const uint32_t ids[] = {part.query_id(), part.key_id(), part.value_id(), part.scale_id(), part.mask_id()};
      for (uint32_t i = 0; i < 5; ++i) node->inputs[i] = ids[i];
      node->num_inputs = 5;
      node->output = part.output_id();
      node->flags = part.flags();
      break;
    }
    default:
      return fail(Error::NotSupported, "XnnpackBackend does not support nodes of kind %s", name_of(node->kind));
  }
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
