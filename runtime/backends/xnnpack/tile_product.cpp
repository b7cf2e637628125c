// Convolutions as products of gathered pixels with packed weights.
#include <algorithm>
#include <cstring>
#include <new>

#include "backends/xnnpack/tile_step.h"
#include "kernels/optimized/tiles/packed_product.h"

namespace rushlight::xnnpack {
namespace {

using tiles::Tiles;

// Floats of gathered input that stay in a second level cache.
constexpr int64_t kGatheredFloats = 32 * 1024;
constexpr int64_t kLeastPixels = 24;

struct Extents {
  int64_t depth;  // products of one output
  int64_t outputs, groups;
  int64_t weights, bias;  // packed floats of a group
};

Extents extents_of(const Conv& c) {
  const Tiles& t = tiles::tiles();
  Extents e{c.kernel_h * c.kernel_w * c.inputs, c.outputs, c.groups, 0, 0};
  e.weights = tiles::packed_size(t, e.depth, e.outputs);
  e.bias = tiles::packed_bias_size(t, e.outputs);
  return e;
}

int64_t block_of(const Conv& c, int64_t depth, int64_t threads) {
  const int64_t rows = tiles::tiles().gemm_rows;
  const int64_t shared = (c.pixels() + threads - 1) / threads;
  return round_up(std::min(std::max(kLeastPixels, kGatheredFloats / depth), shared), rows);
}

class ProductStep final : public TileStep {
 public:
  ProductStep(const Node& node, size_t threads, PackedWeights&& weights)
      : TileStep(node, threads), weights_(static_cast<PackedWeights&&>(weights)) {}

  size_t scratch_bytes(const Operand* operands) const override {
    const Conv c = conv_of(node_, operands);
    return static_cast<size_t>(threads_ * floats_of_worker(c)) * sizeof(float);
  }

  Error run(KernelRuntimeContext& context) override {
    if (!conv_.is_pointwise()) {
      run_gathered(context);
    } else if (conv_.pixels() >= 2 * tiles::tiles().gemm_rows * workers(context) || conv_.groups > 1) {
      share(context, conv_.pixels(), [&](int64_t worker, int64_t begin, int64_t end) {
        for (int64_t g = 0; g < conv_.groups; ++g) {
          multiply(worker, g, in_ + g * conv_.inputs, conv_.channels(), 0, begin, end, 0, conv_.outputs);
        }
      });
    } else {
      const int64_t step = tiles::packed_bias_size(tiles::tiles(), 1);
      share(context, (conv_.outputs + step - 1) / step, [&](int64_t worker, int64_t begin, int64_t end) {
        multiply(worker, 0, in_, conv_.channels(), 0, 0, conv_.pixels(), begin * step,
                 std::min(end * step, conv_.outputs));
      });
    }
    return Error::Ok;
  }

 private:
  int64_t floats_of_worker(const Conv& c) const {
    const Tiles& t = tiles::tiles();
    int64_t floats = round_up(tiles::packed_product_scratch(t), 16);
    if (!c.is_pointwise()) {
      const int64_t depth = c.kernel_h * c.kernel_w * c.inputs;
      floats += round_up(block_of(c, depth, threads_) * depth, 16) + 16;
    }
    return floats;
  }

  // Rows of `a` from `begin` on are pixels from `first + begin` on.
  void multiply(int64_t worker, int64_t group, const float* a, int64_t lda, int64_t first, int64_t begin, int64_t end,
                int64_t n0, int64_t n1) const {
    const Extents e = extents_of(conv_);
    tiles::PackedProduct p{};
    p.n = e.outputs, p.k = e.depth;
    p.a = a, p.lda = lda;
    p.b = weights_.floats() + group * e.weights;
    p.bias = weights_.floats() + e.groups * e.weights + group * e.bias;
    p.bounds = bounds();
    p.c = out_ + first * conv_.out_channels() + group * e.outputs;
    p.ldc = conv_.out_channels();
    tiles::multiply_packed(tiles::tiles(), p, begin, end, n0, n1, scratch_ + worker * floats_of_worker(conv_));
  }

  void run_gathered(KernelRuntimeContext& context) const {
    const Conv& c = conv_;
    const int64_t depth = c.kernel_h * c.kernel_w * c.inputs;
    const int64_t block = block_of(c, depth, threads_);
    const int64_t blocks = (c.pixels() + block - 1) / block;
    share(context, blocks * c.groups, [&](int64_t worker, int64_t begin, int64_t end) {
      float* gathered =
          scratch_ + worker * floats_of_worker(c) + round_up(tiles::packed_product_scratch(tiles::tiles()), 16);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t group = i % c.groups, first = i / c.groups * block;
        const int64_t count = std::min(block, c.pixels() - first);
        for (int64_t p = 0; p < count; ++p) gather(first + p, group, gathered + p * depth);
        multiply(worker, group, gathered, depth, first, 0, count, 0, c.outputs);
      }
    });
  }

  // The window of an output pixel, zeros in the padding.
  void gather(int64_t pixel, int64_t group, float* to) const {
    const Conv& c = conv_;
    const int64_t x0 = pixel % c.out_width * c.stride_w - c.left;
    const int64_t y0 = pixel / c.out_width % c.out_height * c.stride_h - c.top;
    const float* image =
        in_ + pixel / (c.out_width * c.out_height) * c.height * c.width * c.channels() + group * c.inputs;
    for (int64_t ky = 0; ky < c.kernel_h; ++ky, to += c.kernel_w * c.inputs) {
      const int64_t y = y0 + ky * c.dilation_h;
      if (y < 0 || y >= c.height) {
        std::memset(to, 0, static_cast<size_t>(c.kernel_w * c.inputs) * sizeof(float));
        continue;
      }
      const float* line = image + y * c.width * c.channels();
      if (c.dilation_w == 1 && c.groups == 1) {
        const int64_t begin = std::clamp<int64_t>(-x0, 0, c.kernel_w),
                      end = std::clamp(c.width - x0, begin, c.kernel_w);
        std::memset(to, 0, static_cast<size_t>(begin * c.inputs) * sizeof(float));
        std::memcpy(to + begin * c.inputs, line + (x0 + begin) * c.inputs,
                    static_cast<size_t>((end - begin) * c.inputs) * sizeof(float));
        std::memset(to + end * c.inputs, 0, static_cast<size_t>((c.kernel_w - end) * c.inputs) * sizeof(float));
        continue;
      }
      for (int64_t kx = 0; kx < c.kernel_w; ++kx) {
        const int64_t x = x0 + kx * c.dilation_w;
        float* cell = to + kx * c.inputs;
        if (x < 0 || x >= c.width) {
          std::memset(cell, 0, static_cast<size_t>(c.inputs) * sizeof(float));
        } else {
          std::memcpy(cell, line + x * c.channels(), static_cast<size_t>(c.inputs) * sizeof(float));
        }
      }
    }
  }

  PackedWeights weights_;
};

}  // namespace

Error make_product_step(const Graph& graph, const Node& node, const Operand* operands, size_t threads,
                        MemoryAllocator& allocator, Step** step) {
  const Conv c = conv_of(node, operands);
  const Tiles& t = tiles::tiles();
  const Extents e = extents_of(c);
  const bool is_depthwise = node.kind == Kind::XNNDepthwiseConv2d;
  const bool is_out_in = node.kind != Kind::XNNFullyConnected || (node.flags & kTransposeWeights) == 0;
  const float* filter = static_cast<const float*>(graph.values[node.inputs[1]].constant);
  const float* bias =
      node.inputs[2] == kNone ? nullptr : static_cast<const float*>(graph.values[node.inputs[2]].constant);
  if (is_depthwise) return Error::Ok;
  const size_t count = static_cast<size_t>(e.groups * (e.weights + e.bias));
  RL_ASSIGN(PackedWeights weights, PackedWeights::get(packing_key(graph, node, 1), count, [&](float* to) {
              for (int64_t g = 0; g < e.groups; ++g) {
                tiles::pack_right(t, is_out_in, filter + g * e.outputs * e.depth, is_out_in ? e.depth : e.outputs,
                                  e.depth, e.outputs, to + g * e.weights);
                tiles::pack_bias(t, bias ? bias + g * e.outputs : nullptr, e.outputs,
                                 to + e.groups * e.weights + g * e.bias);
              }
            }));
  return make_in<ProductStep>(allocator, step, node, threads, static_cast<PackedWeights&&>(weights));
}

}  // namespace rushlight::xnnpack
