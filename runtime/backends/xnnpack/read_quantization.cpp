#include "backends/xnnpack/read_quantization.h"

#include <cmath>

#include "rushlight/core/half.h"

namespace rushlight::xnnpack {
namespace {

using By = Quantization::By;
using schema::XNNQuantParams;

bool is_scale(float scale) { return std::isfinite(scale) && scale > 0; }

Error read_by_tensor(const schema::PerTensorQuant& table, size_t id, Value* value) {
  RL_REQUIRE(bool(table), InvalidProgram, "quantized value %zu has no scale", id);
  value->quantization.by = By::Tensor;
  value->quantization.scale = table.scale();
  value->quantization.zero = table.zero_point();
  RL_REQUIRE(is_scale(table.scale()), InvalidProgram, "value %zu has the invalid scale %g", id,
             static_cast<double>(table.scale()));
  const int32_t zero = table.zero_point();
  const bool fits = value->dtype == ScalarType::Char   ? zero >= -128 && zero <= 127
                    : value->dtype == ScalarType::Byte ? zero >= 0 && zero <= 255
                                                       : zero == 0;
  RL_REQUIRE(fits, InvalidProgram, "value %zu has the zero point %d, which is outside of the range of its dtype", id,
             zero);
  return Error::Ok;
}

Error read_axis(int32_t axis, size_t id, Value* value) {
  RL_REQUIRE(axis >= 0 && static_cast<uint32_t>(axis) < value->shape.rank, InvalidProgram,
             "value %zu has scales along dimension %d, which does not exist", id, axis);
  value->quantization.axis = static_cast<uint32_t>(axis);
  return Error::Ok;
}

Error read_by_group(const schema::PerChannelGroupQuant& table, size_t id, Value* value) {
  RL_REQUIRE(bool(table), InvalidProgram, "quantized value %zu has no scales", id);
  value->quantization.by = By::Group;
  RL_TRY(read_axis(table.channel_dim(), id, value));
  RL_REQUIRE(value->shape.rank == 2 && value->quantization.axis == 0, InvalidProgram,
             "value %zu has scales per group, but is not a matrix [channels, inputs]", id);
  const int64_t size = table.group_size();
  RL_REQUIRE(size > 0 && value->shape.dims[1] % size == 0, InvalidProgram,
             "value %zu has groups of %lld numbers, which do not divide its rows of %lld numbers", id,
             static_cast<long long>(size), static_cast<long long>(value->shape.dims[1]));
  value->quantization.group = static_cast<uint32_t>(size);
  return Error::Ok;
}

bool is_weighted(Kind kind) {
  return kind == Kind::XNNConv2d || kind == Kind::XNNDepthwiseConv2d || kind == Kind::XNNConvTranspose2d ||
         kind == Kind::XNNFullyConnected;
}

// Whether a node only copies elements, so that its input and output must have the same quantization parameters.
bool copies_elements(Kind kind) {
  switch (kind) {
    case Kind::XNNStaticTranspose:
    case Kind::XNNStaticReshape:
    case Kind::XNNStaticSlice:
    case Kind::XNNConcatenate2:
    case Kind::XNNConcatenate3:
    case Kind::XNNConcatenate4:
    case Kind::XNNConcatenate5:
    case Kind::XNNCopy:
      return true;
    default:
      return false;
  }
}

Error invalid_node(const Node& node, const char* what) {
  return fail(Error::InvalidProgram, "a %s (debug handle %u) is invalid: %s", name_of(node.kind), node.debug_handle,
              what);
}

bool is_same(const Value& a, const Value& b) {
  const Quantization &x = a.quantization, &y = b.quantization;
  return a.dtype == b.dtype && x.by == y.by && x.zero == y.zero && x.scale == y.scale;
}

Error check_node(const Graph& graph, const Node& node) {
  const Value& out = graph.values[node.output];
  for (uint32_t i = 0; i < node.num_inputs; ++i) {
    if (node.inputs[i] == kNone) continue;
    const Value& in = graph.values[node.inputs[i]];
    const By by = in.quantization.by;
    const bool is_weight = is_weighted(node.kind) && i == 1, is_bias = is_weighted(node.kind) && i == 2;
    if ((by == By::Channel || by == By::Group) && !is_weight && !is_bias)
      return invalid_node(node, "only weights and biases may have scales per channel or group");
    if (by == By::Group && (is_bias || node.kind != Kind::XNNFullyConnected || (node.flags & kTransposeWeights) != 0)) {
      return invalid_node(node, "only weights of fully connected nodes may have scales per group");
    }
    if (by == By::Channel && is_weight && in.is_int4 && in.quantization.axis != 0) {
      return invalid_node(node, "4-bit weights need their channels as the first dimension");
    }
    if (by == By::Row && (!is_weighted(node.kind) || i != 0))
      return invalid_node(node, "only the input of convolutions and fully connected nodes may have scales per row");
    if (by == By::Row && is_quantized(out))
      return invalid_node(node, "the result must be float, because the input has scales per row");
    if (in.dtype == ScalarType::Int && !is_bias) return invalid_node(node, "only a bias may be int32");
    if (copies_elements(node.kind) && !is_same(in, out))
      return invalid_node(node, "the input and the result have different dtypes or quantization parameters");
  }
  if (out.quantization.by == By::Row) {
    const Value& in = graph.values[node.inputs[0]];
    if (node.kind != Kind::XNNConvert || is_quantized(in))
      return invalid_node(node, "only the conversion of a float value may have a result with scales per row");
    if (out.argument != kNone)
      return invalid_node(node, "a value with scales per row cannot be an output of the delegate");
  } else if (is_quantized(out) && out.quantization.by != By::Tensor) {
    return invalid_node(node, "the result may have only one scale");
  } else if (out.dtype == ScalarType::Int) {
    return invalid_node(node, "the result may not be int32");
  }
  return Error::Ok;
}

}  // namespace

Error read_quantization(const schema::XNNQuantizedTensorValue& table, size_t id, Value* value) {
  const schema::XNNDatatype datatype = table.tensor_value().datatype();
  const XNNQuantParams params = table.quant_params_type();
  const auto mismatch = [&] {
    return fail(Error::InvalidProgram,
                "value %zu of datatype %d has quantization parameters of kind %d, which do not belong together", id,
                static_cast<int>(datatype), static_cast<int>(params));
  };
  switch (datatype) {
    case schema::XNNDatatype::xnn_datatype_qint8:
    case schema::XNNDatatype::xnn_datatype_quint8:
    case schema::XNNDatatype::xnn_datatype_qint32:
      value->dtype = datatype == schema::XNNDatatype::xnn_datatype_qint8    ? ScalarType::Char
                     : datatype == schema::XNNDatatype::xnn_datatype_quint8 ? ScalarType::Byte
                                                                            : ScalarType::Int;
      if (params != XNNQuantParams::PerTensorQuant) return mismatch();
      return read_by_tensor(table.quant_params_as_PerTensorQuant(), id, value);
    case schema::XNNDatatype::xnn_datatype_qcint8:
    case schema::XNNDatatype::xnn_datatype_qcint32:
    case schema::XNNDatatype::xnn_datatype_qcint4: {
      value->dtype = datatype == schema::XNNDatatype::xnn_datatype_qcint32 ? ScalarType::Int : ScalarType::Char;
      value->is_int4 = datatype == schema::XNNDatatype::xnn_datatype_qcint4;
      const auto channels = table.quant_params_as_PerChannelQuant();
      if (!channels) return mismatch();
      value->quantization.by = By::Channel;
      return read_axis(channels.channel_dim(), id, value);
    }
    case schema::XNNDatatype::xnn_datatype_qbint4:
      value->dtype = ScalarType::Char;
      value->is_int4 = true;
      if (params != XNNQuantParams::PerChannelGroupQuant) return mismatch();
      return read_by_group(table.quant_params_as_PerChannelGroupQuant(), id, value);
    case schema::XNNDatatype::xnn_datatype_qdint8: {
      const auto rows = table.quant_params_as_PerTokenDynamicQuant();
      if (!rows) return mismatch();
      const int32_t dims = rows.num_nonbatch_dims();
      RL_REQUIRE(dims > 0 && static_cast<uint32_t>(dims) <= value->shape.rank, InvalidProgram,
                 "value %zu has scales for rows of %d dimensions, but has %u dimensions", id, dims, value->shape.rank);
      value->dtype = ScalarType::Char;
      value->quantization.by = By::Row;
      value->quantization.group = static_cast<uint32_t>(dims);
      return Error::Ok;
    }
    default:
      return fail(Error::NotSupported,
                  "value %zu of the payload has datatype %d, which XnnpackBackend does not support", id,
                  static_cast<int>(datatype));
  }
}

Error find_scales(const schema::XNNQuantizedTensorValue& table, size_t id, const Value& value, Scales* scales) {
  int64_t expected = 0;
  if (value.quantization.by == By::Channel) {
    const auto channels = table.quant_params_as_PerChannelQuant();
    *scales = {channels.num_scales(), channels.scale_buffer_idx(), sizeof(float), channels.scale()};
    expected = value.shape.dims[value.quantization.axis];
  } else if (value.quantization.by == By::Group) {
    const auto groups = table.quant_params_as_PerChannelGroupQuant();
    *scales = {groups.num_scales(), groups.scale_buffer_idx(), sizeof(uint16_t), {}};
    expected = value.shape.dims[0] * (value.shape.dims[1] / value.quantization.group);
    RL_REQUIRE(scales->constant != 0, NotSupported, "the scales per group of value %zu are not bfloat16", id);
  } else {
    return Error::Ok;
  }
  if (scales->constant == 0) scales->count = scales->floats.size();
  RL_REQUIRE(scales->count == expected, InvalidProgram, "value %zu has %u scales, but needs %lld", id, scales->count,
             static_cast<long long>(expected));
  return Error::Ok;
}

Error check_scales(size_t id, const Value& value, uint32_t count) {
  const bool is_short = value.quantization.by == By::Group;
  for (uint32_t i = 0; i < count; ++i) {
    const float scale = is_short ? detail::bfloat16_to_float(static_cast<const uint16_t*>(value.quantization.scales)[i])
                                 : static_cast<const float*>(value.quantization.scales)[i];
    RL_REQUIRE(is_scale(scale), InvalidProgram, "value %zu has the invalid scale %g", id, static_cast<double>(scale));
  }
  return Error::Ok;
}

uint64_t constant_bytes(const Value& value) {
  const uint64_t count = static_cast<uint64_t>(value.shape.numel());
  if (!value.is_int4) return count * element_size(value.dtype);
  const uint64_t row = static_cast<uint64_t>(value.shape.last());
  return count / row * ((row + 1) / 2);
}

Error check_quantization(const Graph& graph) {
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    const By by = value.quantization.by;
    RL_REQUIRE(value.argument == kNone || by == By::None || (by == By::Tensor && value.dtype != ScalarType::Int),
               InvalidProgram, "value %zu is an argument of the delegate, so that it must be float or have one scale",
               i);
    RL_REQUIRE(value.constant == nullptr || by != By::Row, InvalidProgram,
               "value %zu is constant, so that it cannot have scales per row", i);
    RL_REQUIRE(value.constant != nullptr || (by != By::Channel && by != By::Group && value.dtype != ScalarType::Int),
               InvalidProgram,
               "value %zu is not constant, so that it cannot be int32 or have scales per channel or group", i);
  }
  for (const Node& node : graph.nodes) RL_TRY(check_node(graph, node));
  return Error::Ok;
}

}  // namespace rushlight::xnnpack
