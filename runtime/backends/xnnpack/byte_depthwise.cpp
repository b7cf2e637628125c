// Depthwise convolutions over int8, a row of outputs and a block of channels at a time.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/xnnpack/byte_step.h"
#include "rushlight/platform/platform.h"

namespace rushlight::xnnpack {
namespace {

using By = Quantization::By;
using tiles::kDepthwiseChannels;

constexpr int64_t kColumns = 32;  // outputs whose sums are held at once

int64_t blocks_of(const Conv& c) { return round_up(c.groups, kDepthwiseChannels) / kDepthwiseChannels; }
int64_t block_size(const Conv& c) { return (c.kernel_h * c.kernel_w + 1) / 2 * 32; }

// Of all channels, and what stands in the padding.
struct Constants {
  int32_t* corrections = nullptr;
  float* multipliers = nullptr;
  int8_t* padding = nullptr;
  int64_t* offsets = nullptr;  // of taps, in a row of sources
};

class ByteDepthwiseStep final : public ThreadedStep {
 public:
  ByteDepthwiseStep(const Graph& graph, const Node& node, size_t threads, PackedWeights&& weights,
                    const Constants& constants)
      : ThreadedStep(node, threads),
        range_(range_of(graph, node)),
        weights_(static_cast<PackedWeights&&>(weights)),
        constants_(constants) {}

  bool reads(uint32_t input) const override { return input == 0; }
  bool reads_beyond() const override { return true; }

  // Sources of a row and sums of a block, for every worker.
  size_t scratch_bytes(const Operand* operands) const override {
    return static_cast<size_t>(threads_) * worker_bytes(conv_of(node_, operands));
  }

  Error setup(const Operand* operands, void* scratch, pthreadpool*) override {
    conv_ = conv_of(node_, operands);
    in_ = static_cast<const int8_t*>(operands[node_.inputs[0]].data);
    out_ = static_cast<uint8_t*>(operands[node_.output].data);
    scratch_ = static_cast<uint8_t*>(scratch);
    const int64_t columns = columns_of(conv_);
    for (int64_t tap = 0; tap < conv_.kernel_h * conv_.kernel_w; ++tap) {
      constants_.offsets[tap] = tap / conv_.kernel_w * columns + tap % conv_.kernel_w * conv_.dilation_w;
    }
    return Error::Ok;
  }

  Error run(KernelRuntimeContext& context) override {
    const Conv& c = conv_;
    const int64_t columns = columns_of(c), channels = c.groups;
    share(context, c.batch * c.out_height, [&](int64_t worker, int64_t begin, int64_t end) {
      uint8_t* const mine = scratch_ + static_cast<size_t>(worker) * worker_bytes(c);
      int32_t* const sums = reinterpret_cast<int32_t*>(mine);
      const int8_t** const sources = reinterpret_cast<const int8_t**>(sums + kColumns * kDepthwiseChannels);
      for (int64_t i = begin; i < end; ++i) {
        const int8_t* image = in_ + i / c.out_height * c.height * c.width * channels;
        for (int64_t ky = 0; ky < c.kernel_h; ++ky) {
          const int64_t y = i % c.out_height * c.stride_h - c.top + ky * c.dilation_h;
          const int8_t** row = sources + ky * columns;
          for (int64_t j = 0; j < columns; ++j) {
            const int64_t x = j - c.left;
            const bool is_outside = y < 0 || y >= c.height || x < 0 || x >= c.width;
            row[j] = is_outside ? constants_.padding : image + (y * c.width + x) * channels;
          }
        }
        for (int64_t block = 0; block < blocks_of(c); ++block) {
          convolve(sources, block, sums, out_ + i * c.out_width * channels);
        }
      }
    });
    return Error::Ok;
  }

 private:
  static int64_t columns_of(const Conv& c) {
    return (c.out_width - 1) * c.stride_w + (c.kernel_w - 1) * c.dilation_w + 1;
  }
  static size_t worker_bytes(const Conv& c) {
    const int64_t sources = c.kernel_h * columns_of(c) * static_cast<int64_t>(sizeof(const int8_t*));
    return static_cast<size_t>(round_up(sources + kColumns * kDepthwiseChannels * 4, 64));
  }

  void convolve(const int8_t* const* sources, int64_t block, int32_t* sums, uint8_t* out) const {
    const Conv& c = conv_;
    const tiles::ByteTiles& t = tiles::byte_tiles();
    const int64_t channel = block * kDepthwiseChannels;
    tiles::ByteTaps d{sources,
                      constants_.offsets,
                      c.kernel_h * c.kernel_w,
                      c.stride_w,
                      channel,
                      reinterpret_cast<const int16_t*>(weights_.floats()) + block * block_size(c),
                      0,
                      0,
                      sums};
    const tiles::Requantize how{constants_.corrections + channel,
                                constants_.multipliers + channel,
                                nullptr,
                                range_.zero,
                                range_.least,
                                range_.most};
    for (int64_t x = 0; x < c.out_width; x += kColumns) {
      d.begin = x;
      d.end = std::min(x + kColumns, c.out_width);
      t.loops.depthwise(d);
      t.requantize(
          how, {sums, kDepthwiseChannels, d.end - d.begin, std::min(kDepthwiseChannels, c.groups - channel), c.groups},
          out + x * c.groups + channel);
    }
  }

  const tiles::ByteRange range_;
  PackedWeights weights_;
  const Constants constants_;
  Conv conv_{};
  const int8_t* in_ = nullptr;
  uint8_t* out_ = nullptr;
  uint8_t* scratch_ = nullptr;
};

}  // namespace

Error make_byte_depthwise_step(const Graph& graph, const Node& node, const Operand* operands, size_t threads,
                               MemoryAllocator& allocator, Step** step) {
  const Conv c = conv_of(node, operands);
  const Value& in = graph.values[node.inputs[0]];
  const Value& weights = graph.values[node.inputs[1]];
  const Value& out = graph.values[node.output];
  if (c.inputs != 1 || c.outputs != 1 || c.groups == 1) return Error::Ok;
  const bool is_depthwise = node.kind == Kind::XNNDepthwiseConv2d;  // weights [taps, channels], else the other way
  const Quantization& scales = weights.quantization;
  if (!is_byte(in) || !is_byte(out) || weights.dtype != ScalarType::Char || weights.has_nibbles) return Error::Ok;
  if (scales.by == By::Tensor ? scales.zero != 0 : scales.axis != (is_depthwise ? 3u : 0u)) return Error::Ok;
  const bool has_bias = node.inputs[2] != kNone;
  if (has_bias && graph.values[node.inputs[2]].dtype != ScalarType::Int) return Error::Ok;

  const int64_t taps = c.kernel_h * c.kernel_w, channels = c.groups;
  const int8_t* filter = static_cast<const int8_t*>(weights.constant);
  const int32_t* bias = has_bias ? static_cast<const int32_t*>(graph.values[node.inputs[2]].constant) : nullptr;
  const auto weight = [&](int64_t tap, int64_t channel) {
    return filter[is_depthwise ? tap * channels + channel : channel * taps + tap];
  };
  Constants constants;
  constants.corrections = allocator.allocate_array<int32_t>(static_cast<size_t>(channels));
  constants.multipliers = allocator.allocate_array<float>(static_cast<size_t>(channels));
  constants.padding = allocator.allocate_array<int8_t>(static_cast<size_t>(channels + kDepthwiseChannels));
  constants.offsets = allocator.allocate_array<int64_t>(static_cast<size_t>(taps));
  int8_t* rows = static_cast<int8_t*>(platform::allocate(static_cast<size_t>(taps * kDepthwiseChannels), 64));
  if (!constants.corrections || !constants.multipliers || !constants.padding || !constants.offsets || !rows) {
    if (rows) platform::release(rows);
    return fail(Error::MemoryAllocationFailed, "no memory for %lld channels", static_cast<long long>(channels));
  }
  const int32_t zero = in.quantization.zero;
  std::memset(constants.padding, zero, static_cast<size_t>(channels + kDepthwiseChannels));
  const float ratio = in.quantization.scale / out.quantization.scale;
  for (int64_t i = 0; i < channels; ++i) {
    int32_t sum = 0;
    for (int64_t tap = 0; tap < taps; ++tap) sum += weight(tap, i);
    const int64_t exact = (bias ? bias[i] : 0) - int64_t{zero} * sum;
    constants.corrections[i] = static_cast<int32_t>(std::clamp<int64_t>(exact, INT32_MIN, INT32_MAX));
    constants.multipliers[i] = weight_scale(weights, i) * ratio;
  }
  PackingKey key = packing_key(graph, node, 4);
  key.bias_hash = 0;
  key.layout[6] = static_cast<uint64_t>(node.kind);
  const size_t floats = static_cast<size_t>(blocks_of(c) * block_size(c)) / 2;
  auto packed = PackedWeights::get(key, floats, [&](float* to) {
    for (int64_t block = 0; block < blocks_of(c); ++block) {
      const int64_t first = block * kDepthwiseChannels, count = std::min(kDepthwiseChannels, channels - first);
      for (int64_t tap = 0; tap < taps; ++tap) {
        for (int64_t i = 0; i < count; ++i) rows[tap * kDepthwiseChannels + i] = weight(tap, first + i);
      }
      tiles::byte_tiles().loops.pack_depthwise(rows, kDepthwiseChannels, taps, count,
                                               reinterpret_cast<int16_t*>(to) + block * block_size(c));
    }
  });
  platform::release(rows);
  if (!packed.ok()) return packed.error();
  return make_in<ByteDepthwiseStep>(allocator, step, graph, node, threads, static_cast<PackedWeights&&>(packed.get()),
                                    constants);
}

}  // namespace rushlight::xnnpack
