// Depthwise convolutions, a row of outputs at a time.
#include <algorithm>
#include <new>

#include "backends/xnnpack/tile_step.h"
#include "kernels/optimized/tiles/tiles.h"

namespace rushlight::xnnpack {
namespace {

// Packed: weights [taps, channels], bias [channels], zeros [channels].
class DepthwiseStep final : public TileStep {
 public:
  DepthwiseStep(const Node& node, size_t threads, PackedWeights&& weights)
      : TileStep(node, threads), weights_(static_cast<PackedWeights&&>(weights)) {}

  // Sources of a row, for every worker.
  size_t scratch_bytes(const Operand* operands) const override {
    const Conv c = conv_of(node_, operands);
    return static_cast<size_t>(threads_ * c.kernel_h * columns_of(c)) * sizeof(const float*);
  }

  Error run(KernelRuntimeContext& context) override {
    const Conv& c = conv_;
    const int64_t columns = columns_of(c), channels = c.channels();
    const float* const bias = weights_.floats() + c.kernel_h * c.kernel_w * channels;
    const float* const zeros = bias + channels;
    share(context, c.batch * c.out_height, [&](int64_t worker, int64_t begin, int64_t end) {
      const float** sources = reinterpret_cast<const float**>(scratch_) + worker * c.kernel_h * columns;
      for (int64_t i = begin; i < end; ++i) {
        const float* image = in_ + i / c.out_height * c.height * c.width * channels;
        for (int64_t ky = 0; ky < c.kernel_h; ++ky) {
          const int64_t y = i % c.out_height * c.stride_h - c.top + ky * c.dilation_h;
          const float** row = sources + ky * columns;
          if (y < 0 || y >= c.height) {
            std::fill(row, row + columns, zeros);
            continue;
          }
          for (int64_t j = 0; j < columns; ++j) {
            const int64_t x = j - c.left;
            row[j] = x < 0 || x >= c.width ? zeros : image + (y * c.width + x) * channels;
          }
        }
        const tiles::DepthwiseRow row{sources,
                                      columns,
                                      weights_.floats(),
                                      bias,
                                      channels,
                                      c.kernel_h,
                                      c.kernel_w,
                                      c.stride_w,
                                      c.dilation_w,
                                      c.out_width,
                                      low(),
                                      high(),
                                      out_ + i * c.out_width * channels};
        tiles::tiles().depthwise_row(row);
      }
    });
    return Error::Ok;
  }

 private:
  static int64_t columns_of(const Conv& c) {
    return (c.out_width - 1) * c.stride_w + (c.kernel_w - 1) * c.dilation_w + 1;
  }
  float low() const { return node_.has_bounds ? node_.min : -__builtin_inff(); }
  float high() const { return node_.has_bounds ? node_.max : __builtin_inff(); }

  PackedWeights weights_;
};

}  // namespace

Error make_depthwise_step(const Graph& graph, const Node& node, const Operand* operands, size_t threads,
                          MemoryAllocator& allocator, Step** step) {
  const Conv c = conv_of(node, operands);
  if (c.inputs != 1 || c.outputs != 1 || c.groups == 1) return Error::Ok;
  const int64_t taps = c.kernel_h * c.kernel_w, channels = c.groups;
  const float* filter = static_cast<const float*>(graph.values[node.inputs[1]].constant);
  const float* bias =
      node.inputs[2] == kNone ? nullptr : static_cast<const float*>(graph.values[node.inputs[2]].constant);
  const bool is_depthwise = node.kind == Kind::XNNDepthwiseConv2d;  // weights [taps, channels], else the other way
  const size_t count = static_cast<size_t>((taps + 2) * channels);
  RL_ASSIGN(PackedWeights weights, PackedWeights::get(packing_key(graph, node, 2), count, [&](float* to) {
              for (int64_t i = 0; i < taps * channels; ++i) {
                to[i] = is_depthwise ? filter[i] : filter[i % channels * taps + i / channels];
              }
              if (bias) std::copy(bias, bias + channels, to + taps * channels);
            }));
  return make_in<DepthwiseStep>(allocator, step, node, threads, static_cast<PackedWeights&&>(weights));
}

}  // namespace rushlight::xnnpack
