// int8 convolutions and fully connected nodes as GEMMs with packed weights. If the result is int8, the sums are
// requantized; if the input has a scale per row, the sums are converted to floats.
#include <algorithm>

#include "backends/xnnpack/int8_step.h"
#include "backends/xnnpack/quantized.h"
#include "microkernels/conv/int8_packed.h"
#include "rushlight/platform/platform.h"

namespace rushlight::xnnpack {
namespace {

using By = Quantization::By;
using microkernels::Int8Microkernels;
using microkernels::PackedInt8Conv;

class Int8GemmStep final : public ThreadedStep {
 public:
  Int8GemmStep(const Graph& graph, const Node& node, size_t threads, PackedWeights&& weights,
               const PackedInt8Conv& convolution)
      : ThreadedStep(node, threads),
        is_by_row_(graph.values[node.inputs[0]].quantization.by == By::Row),
        weights_(static_cast<PackedWeights&&>(weights)),
        convolution_(convolution) {}

  bool reads(uint32_t input) const override { return input == 0; }

  size_t scratch_bytes(const Operand* operands) const override {
    PackedInt8Conv convolution = convolution_;
    prepare(operands, &convolution);
    return static_cast<size_t>(threads_) * convolution.worker_bytes();
  }

  Error setup(const Operand* operands, void* scratch, pthreadpool*) override {
    RL_REQUIRE(prepare(operands, &convolution_), InvalidProgram, "the window of an int8 convolution is too large");
    const Operand& in = operands[node_.inputs[0]];
    operands_ = {};
    operands_.in = in.data, operands_.out = operands[node_.output].data;
    if (is_by_row_) operands_.row_scales = in.row_scales(), operands_.row_zeros = in.row_zeros();
    if (is_by_row_) operands_.scale_rows = in.rows();
    scratch_ = scratch;
    return Error::Ok;
  }

  Error run(KernelRuntimeContext& context) override {
    convolution_.run(context, workers(context), operands_, scratch_);
    return Error::Ok;
  }

 private:
  // Returns false if the convolution does not support the sizes.
  bool prepare(const Operand* operands, PackedInt8Conv* convolution) const {
    const Conv c = conv_of(node_, operands);
    return convolution->prepare(c.input().sizes, c.output().sizes);
  }

  const bool is_by_row_;
  PackedWeights weights_;
  PackedInt8Conv convolution_;
  PackedInt8Conv::Operands operands_;
  void* scratch_ = nullptr;
};

// Returns the weights as int8 [output channels, depth]: either the constant itself, or `rows` after writing them there.
const int8_t* channel_rows(const Node& node, const Value& weights, const Conv& c, int8_t* rows) {
  const int64_t depth = c.kernel_h * c.kernel_w * c.inputs, channels = c.out_channels();
  const int8_t* from = static_cast<const int8_t*>(weights.constant);
  if (weights.is_int4) {
    expand_int4(weights, rows);
    return rows;
  }
  const bool is_transposed = node.kind == Kind::XNNDepthwiseConv2d ||
                             (node.kind == Kind::XNNFullyConnected && (node.flags & kTransposeWeights) != 0);
  if (!is_transposed) return from;
  for (int64_t i = 0; i < channels; ++i) {
    for (int64_t j = 0; j < depth; ++j) rows[i * depth + j] = from[j * channels + i];
  }
  return rows;
}

// Whether the weights have one scale, or scales along the axis of the output channels.
bool has_usable_scales(const Node& node, const Value& weights, int64_t channels) {
  const Quantization& q = weights.quantization;
  if (weights.dtype != ScalarType::Char) return false;
  if (q.by == By::Tensor) return q.zero == 0;
  const bool is_last = node.kind == Kind::XNNDepthwiseConv2d ||
                       (node.kind == Kind::XNNFullyConnected && (node.flags & kTransposeWeights) != 0);
  return q.by == By::Channel && q.axis == (is_last ? weights.shape.rank - 1 : 0) &&
         weights.shape.dims[q.axis] == channels && !(weights.is_int4 && is_last);
}

bool is_suited(const Graph& graph, const Node& node, const Conv& c, const Operand* operands) {
  const Value& in = graph.values[node.inputs[0]];
  const Value& weights = graph.values[node.inputs[1]];
  const Value& out = graph.values[node.output];
  if (weights.constant == nullptr || !has_usable_scales(node, weights, c.out_channels())) return false;
  const bool has_bias = node.inputs[2] != kNone;
  const ScalarType bias = has_bias ? graph.values[node.inputs[2]].dtype : ScalarType::Int;
  if (has_bias && graph.values[node.inputs[2]].constant == nullptr) return false;
  if (is_plain_int8(in)) return is_plain_int8(out) && bias == ScalarType::Int;
  if (in.quantization.by != By::Row || out.dtype != ScalarType::Float) return false;
  const uint32_t dims = node.kind == Kind::XNNFullyConnected ? 1 : 3;
  return operands[node.inputs[0]].row_dims == dims && (!has_bias || bias == ScalarType::Float);
}

Error set_int8_results(const Graph& graph, const Node& node, const int32_t* bias, MemoryAllocator& allocator,
                       PackedInt8Conv* c) {
  c->zero = graph.values[node.inputs[0]].quantization.zero;
  c->range = range_of(graph, node);
  int32_t* const corrections = allocator.allocate_array<int32_t>(static_cast<size_t>(c->groups * c->outputs));
  RL_REQUIRE(corrections != nullptr, MemoryAllocationFailed,
             "no memory for the zero point corrections of %lld channels",
             static_cast<long long>(c->groups * c->outputs));
  for (int64_t g = 0; g < c->groups; ++g) {
    const int64_t first = g * c->outputs;
    microkernels::zero_corrections(*c->kernels, c->matrix(g), c->outputs, c->zero, bias ? bias + first : nullptr,
                                   corrections + first);
  }
  c->corrections = corrections;
  return Error::Ok;
}

Error set_float_results(const Node& node, const float* bias, MemoryAllocator& allocator, PackedInt8Conv* c) {
  c->gives_floats = true;
  c->epilogue.clamps = node.has_bounds;
  c->epilogue.low = node.min, c->epilogue.high = node.max;
  if (bias == nullptr) return Error::Ok;
  const int64_t count = c->groups * c->outputs;
  float* const offsets = allocator.allocate_array<float>(static_cast<size_t>(count));
  RL_REQUIRE(offsets != nullptr, MemoryAllocationFailed, "no memory for a bias");
  std::copy_n(bias, count, offsets);
  c->offsets = offsets;
  return Error::Ok;
}

}  // namespace

Error make_int8_gemm_step(const Graph& graph, const Node& node, const Operand* operands, size_t threads,
                          MemoryAllocator& allocator, Step** step) {
  const Conv c = conv_of(node, operands);
  if (!is_suited(graph, node, c, operands)) return Error::Ok;
  const Int8Microkernels& t = microkernels::int8_microkernels();
  const Value& in = graph.values[node.inputs[0]];
  const Value& weights = graph.values[node.inputs[1]];
  const Value& out = graph.values[node.output];
  const int64_t depth = c.kernel_h * c.kernel_w * c.inputs, count = c.out_channels();

  PackedInt8Conv convolution;
  convolution.window = c.window();
  convolution.groups = c.groups, convolution.channels = c.inputs, convolution.outputs = c.outputs;
  int8_t* rows = static_cast<int8_t*>(platform::allocate(static_cast<size_t>(count * depth), 64));
  RL_REQUIRE(rows != nullptr, MemoryAllocationFailed, "no memory to pack weights");
  PackingKey key = packing_key(graph, node, 3);
  key.bias_hash = 0;
  key.layout[6] = static_cast<uint64_t>(node.kind);
  const size_t matrix_bytes = convolution.matrix_bytes();
  auto packed = PackedWeights::get(key, static_cast<size_t>(c.groups) * matrix_bytes / sizeof(float), [&](float* to) {
    const int8_t* from = channel_rows(node, weights, c, rows);
    for (int64_t g = 0; g < c.groups; ++g) {
      microkernels::pack_rhs(t, from + g * c.outputs * depth, depth, c.outputs, depth,
                             reinterpret_cast<uint8_t*>(to) + static_cast<size_t>(g) * matrix_bytes);
    }
  });
  platform::release(rows);
  if (!packed.ok()) return packed.error();
  convolution.weights = reinterpret_cast<const uint8_t*>(packed.get().floats());

  float* const multipliers = allocator.allocate_array<float>(static_cast<size_t>(count));
  RL_REQUIRE(multipliers != nullptr, MemoryAllocationFailed, "no memory for %lld scales",
             static_cast<long long>(count));
  const float ratio = is_plain_int8(in) ? in.quantization.scale / out.quantization.scale : 1.0f;
  for (int64_t i = 0; i < count; ++i) multipliers[i] = weight_scale(weights, i) * ratio;
  convolution.multipliers = multipliers;
  const void* bias = node.inputs[2] == kNone ? nullptr : graph.values[node.inputs[2]].constant;
  RL_TRY(is_plain_int8(in) ? set_int8_results(graph, node, static_cast<const int32_t*>(bias), allocator, &convolution)
                           : set_float_results(node, static_cast<const float*>(bias), allocator, &convolution));
  return make_in<Int8GemmStep>(allocator, step, graph, node, threads, static_cast<PackedWeights&&>(packed.get()),
                               convolution);
}

}  // namespace rushlight::xnnpack
