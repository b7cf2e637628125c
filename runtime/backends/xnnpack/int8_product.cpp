// Convolutions and fully connected nodes over int8 as products with packed weights: static ones, whose sums become
// int8 again, and those with scales by row, whose sums become floats.
#include <algorithm>
#include <cmath>

#include "backends/xnnpack/int8_step.h"
#include "backends/xnnpack/quantized.h"
#include "core/rounding.h"
#include "microkernels/conv/int8_window.h"
#include "microkernels/gemm/int8.h"
#include "rushlight/platform/platform.h"

namespace rushlight::xnnpack {
namespace {

using By = Quantization::By;
using microkernels::Int8Microkernels;

// Per output channel of all groups.
struct Channels {
  int32_t* corrections = nullptr;  // of static nodes
  float* multipliers = nullptr;
  float* offsets = nullptr;  // bias of those with scales by row, or null
};

size_t group_bytes(const Conv& c) {
  const int64_t depth = c.kernel_h * c.kernel_w * c.inputs;
  return static_cast<size_t>(round_up(
      static_cast<int64_t>(microkernels::packed_rhs_size(microkernels::int8_microkernels(), c.outputs, depth)), 64));
}

class Int8ProductStep final : public ThreadedStep {
 public:
  Int8ProductStep(const Graph& graph, const Node& node, size_t threads, PackedWeights&& weights,
                  const Channels& channels)
      : ThreadedStep(node, threads),
        in_value_(graph.values[node.inputs[0]]),
        range_(range_of(graph, node)),
        weights_(static_cast<PackedWeights&&>(weights)),
        channels_(channels) {}

  bool reads(uint32_t input) const override { return input == 0; }

  size_t scratch_bytes(const Operand* operands) const override {
    const Conv c = conv_of(node_, operands);
    return static_cast<size_t>(threads_) * (product_bytes(c) + lhs_bytes(c));
  }

  Error setup(const Operand* operands, void* scratch, pthreadpool*) override {
    conv_ = conv_of(node_, operands);
    in_ = operands[node_.inputs[0]];
    out_ = operands[node_.output].data;
    scratch_ = static_cast<uint8_t*>(scratch);
    worker_bytes_ = product_bytes(conv_) + lhs_bytes(conv_);
    return Error::Ok;
  }

  Error run(KernelRuntimeContext& context) override {
    const Int8Microkernels& t = microkernels::int8_microkernels();
    const int64_t step = microkernels::column_step(t);
    if (conv_.pixels() >= 2 * t.rows * workers(context) || conv_.groups > 1) {
      share(context, conv_.pixels(), [&](int64_t worker, int64_t begin, int64_t end) {
        for (int64_t g = 0; g < conv_.groups; ++g) multiply(worker, g, begin, end, 0, conv_.outputs);
      });
    } else {
      share(context, (conv_.outputs + step - 1) / step, [&](int64_t worker, int64_t begin, int64_t end) {
        multiply(worker, 0, 0, conv_.pixels(), begin * step, std::min(end * step, conv_.outputs));
      });
    }
    return Error::Ok;
  }

 private:
  static size_t product_bytes(const Conv& c) {
    const int64_t depth = c.kernel_h * c.kernel_w * c.inputs;
    return static_cast<size_t>(
        round_up(static_cast<int64_t>(microkernels::product_scratch(microkernels::int8_microkernels(), depth)), 64));
  }
  size_t lhs_bytes(const Conv& c) const {
    const size_t bytes = microkernels::Int8LhsPacker::scratch_bytes(microkernels::int8_microkernels(), window_of(c),
                                                                    c.inputs, c.outputs, reads_in_place(c));
    return static_cast<size_t>(round_up(static_cast<int64_t>(bytes), 64));
  }
  bool reads_in_place(const Conv& c) const { return !is_by_row() && c.batch == 1; }
  static microkernels::Int8Window window_of(const Conv& c) {
    return microkernels::int8_window(c.window(), c.input().sizes, c.output().sizes);
  }
  bool is_by_row() const { return in_value_.quantization.by == By::Row; }

  void multiply(int64_t worker, int64_t group, int64_t begin, int64_t end, int64_t n0, int64_t n1) const {
    const Conv& c = conv_;
    const int64_t first = group * c.outputs;
    uint8_t* const scratch = scratch_ + static_cast<size_t>(worker) * worker_bytes_;
    microkernels::Int8Window window = window_of(c);
    window.in = static_cast<const uint8_t*>(in_.data);
    microkernels::Int8LhsPacker left;
    microkernels::Int8Product p{};
    p.m = c.pixels(), p.n = c.outputs;
    const auto set_lhs = [&](int32_t zero, int64_t from, int64_t to) {
      window.zero = static_cast<int8_t>(zero);
      left.set(&p, microkernels::int8_microkernels(), window, group * c.inputs, c.inputs, reads_in_place(c), from, to,
               scratch + product_bytes(c));
    };
    p.rhs = reinterpret_cast<const uint8_t*>(weights_.floats()) + static_cast<size_t>(group) * group_bytes(c);
    p.out_stride = c.out_channels();
    const Int8Microkernels& t = microkernels::int8_microkernels();
    if (!is_by_row()) {
      set_lhs(in_value_.quantization.zero, begin, end);
      p.out_kind = microkernels::Int8Product::Out::Bytes;
      p.requantize = {channels_.corrections + first,
                      channels_.multipliers + first,
                      nullptr,
                      range_.zero,
                      range_.least,
                      range_.most};
      p.out = static_cast<uint8_t*>(out_) + first;
      microkernels::multiply(t, p, begin, end, n0, n1, scratch);
      return;
    }
    p.out_kind = microkernels::Int8Product::Out::Floats;
    p.multiplier = channels_.multipliers + first;
    p.offset = channels_.offsets ? channels_.offsets + first : nullptr;
    p.least = node_.has_bounds ? node_.min : -INFINITY;
    p.most = node_.has_bounds ? node_.max : INFINITY;
    p.out = static_cast<float*>(out_) + first;
    // Pixels of one scale after another, or a scale for every pixel.
    const int64_t together = c.pixels() / in_.rows();
    p.row_step = together == 1 ? 1 : 0;
    for (int64_t at = begin; at < end;) {
      const int64_t image = at / together;
      const int64_t stop = together == 1 && c.is_pointwise() ? end : std::min(end, (image + 1) * together);
      set_lhs(in_.row_zeros()[image], at, stop);
      p.zeros = in_.row_zeros() + (together == 1 ? 0 : image);
      p.scales = in_.row_scales() + (together == 1 ? 0 : image);
      microkernels::multiply(t, p, at, stop, n0, n1, scratch);
      at = stop;
    }
  }

  const Value& in_value_;
  const microkernels::Int8Range range_;
  PackedWeights weights_;
  const Channels channels_;
  Conv conv_{};
  Operand in_;
  void* out_ = nullptr;
  uint8_t* scratch_ = nullptr;
  size_t worker_bytes_ = 0;
};

// Weights as int8 [output channels, depth]: in place, or written to `rows`.
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

// Scales of channels run along the axis that counts outputs.
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
  if (is_byte(in)) return is_byte(out) && bias == ScalarType::Int;
  if (in.quantization.by != By::Row || out.dtype != ScalarType::Float) return false;
  const uint32_t dims = node.kind == Kind::XNNFullyConnected ? 1 : 3;
  return operands[node.inputs[0]].row_dims == dims && (!has_bias || bias == ScalarType::Float);
}

}  // namespace

Error make_int8_product_step(const Graph& graph, const Node& node, const Operand* operands, size_t threads,
                             MemoryAllocator& allocator, Step** step) {
  const Conv c = conv_of(node, operands);
  if (!is_suited(graph, node, c, operands)) return Error::Ok;
  const Int8Microkernels& t = microkernels::int8_microkernels();
  const Value& in = graph.values[node.inputs[0]];
  const Value& weights = graph.values[node.inputs[1]];
  const Value& out = graph.values[node.output];
  const int64_t depth = c.kernel_h * c.kernel_w * c.inputs, count = c.out_channels();

  int8_t* rows = static_cast<int8_t*>(platform::allocate(static_cast<size_t>(count * depth), 64));
  RL_REQUIRE(rows != nullptr, MemoryAllocationFailed, "no memory to pack weights");
  PackingKey key = packing_key(graph, node, 3);
  key.bias_hash = 0;
  key.layout[6] = static_cast<uint64_t>(node.kind);
  const size_t floats = static_cast<size_t>(c.groups) * group_bytes(c) / sizeof(float);
  auto packed = PackedWeights::get(key, floats, [&](float* to) {
    const int8_t* from = channel_rows(node, weights, c, rows);
    for (int64_t g = 0; g < c.groups; ++g) {
      microkernels::pack_rhs(t, from + g * c.outputs * depth, depth, c.outputs, depth,
                             reinterpret_cast<uint8_t*>(to) + static_cast<size_t>(g) * group_bytes(c));
    }
  });
  platform::release(rows);
  if (!packed.ok()) return packed.error();

  Channels channels;
  channels.multipliers = allocator.allocate_array<float>(static_cast<size_t>(count));
  RL_REQUIRE(channels.multipliers != nullptr, MemoryAllocationFailed, "no memory for %lld scales",
             static_cast<long long>(count));
  const float ratio = is_byte(in) ? in.quantization.scale / out.quantization.scale : 1.0f;
  for (int64_t i = 0; i < count; ++i) channels.multipliers[i] = weight_scale(weights, i) * ratio;
  const void* bias = node.inputs[2] == kNone ? nullptr : graph.values[node.inputs[2]].constant;
  if (is_byte(in)) {
    channels.corrections = allocator.allocate_array<int32_t>(static_cast<size_t>(count));
    RL_REQUIRE(channels.corrections != nullptr, MemoryAllocationFailed, "no memory for %lld corrections",
               static_cast<long long>(count));
    for (int64_t g = 0; g < c.groups; ++g) {
      const uint8_t* right =
          reinterpret_cast<const uint8_t*>(packed.get().floats()) + static_cast<size_t>(g) * group_bytes(c);
      microkernels::zero_corrections(t, right, c.outputs, in.quantization.zero,
                                     bias ? static_cast<const int32_t*>(bias) + g * c.outputs : nullptr,
                                     channels.corrections + g * c.outputs);
    }
  } else if (bias) {
    channels.offsets = allocator.allocate_array<float>(static_cast<size_t>(count));
    RL_REQUIRE(channels.offsets != nullptr, MemoryAllocationFailed, "no memory for a bias");
    std::copy_n(static_cast<const float*>(bias), count, channels.offsets);
  }
  return make_in<Int8ProductStep>(allocator, step, graph, node, threads, static_cast<PackedWeights&&>(packed.get()),
                                  channels);
}

}  // namespace rushlight::xnnpack
