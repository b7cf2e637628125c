// Convolutions with 3 x 3 windows by Winograd's minimal filtering.
#include <algorithm>
#include <new>

#include "backends/xnnpack/tile_step.h"
#include "kernels/optimized/tiles/packed_product.h"
#include "rushlight/platform/platform.h"

namespace rushlight::xnnpack {
namespace {

using tiles::Tiles;

// Transformed tiles and products that stay in a second level cache.
constexpr int64_t kBlockFloats = 80 * 1024;

struct Extents {
  int64_t m, points;  // outputs of a tile along an axis; products of a tile per channel
  int64_t rows, columns, tiles;
  int64_t weights;  // packed floats of one point
  int64_t inputs, outputs;
};

Extents extents_of(const Conv& c, int64_t m) {
  Extents e{m, (m + 2) * (m + 2), (c.out_height + m - 1) / m, (c.out_width + m - 1) / m, 0, 0, c.inputs, c.outputs};
  e.tiles = c.batch * e.rows * e.columns;
  e.weights = tiles::packed_size(tiles::tiles(), c.inputs, c.outputs);
  return e;
}

// Cycles, roughly: products in vectors of eight, two a cycle; weights that stream in; transforms.
double cost_of(const Conv& c, int64_t m) {
  const double weights = static_cast<double>(c.inputs) * static_cast<double>(c.outputs);
  if (m == 0) return static_cast<double>(c.pixels()) * 9 * weights / 16 + 9 * weights;
  const Extents e = extents_of(c, m);
  const double tiles = static_cast<double>(e.tiles), points = static_cast<double>(e.points);
  return tiles * points * weights / 16 + points * weights +
         tiles * points * 0.7 * static_cast<double>(c.inputs + c.outputs);
}

class WinogradStep final : public TileStep {
 public:
  WinogradStep(const Node& node, size_t threads, int64_t m, PackedWeights&& weights)
      : TileStep(node, threads), m_(m), weights_(static_cast<PackedWeights&&>(weights)) {}

  size_t scratch_bytes(const Operand* operands) const override {
    const Conv c = conv_of(node_, operands);
    return static_cast<size_t>(threads_ * floats_of_worker(extents_of(c, m_))) * sizeof(float);
  }

  Error run(KernelRuntimeContext& context) override {
    const Extents e = extents_of(conv_, m_);
    const int64_t block = block_of(e);
    share(context, (e.tiles + block - 1) / block, [&](int64_t worker, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) run_block(e, worker, i * block, std::min(block, e.tiles - i * block));
    });
    return Error::Ok;
  }

 private:
  // The worker's scratch memory: that of products, transformed inputs [points, block, inputs], products [points,
  // block, outputs].
  int64_t block_of(const Extents& e) const {
    const int64_t rows = tiles::tiles().gemm_rows;
    const int64_t shared = (e.tiles + threads_ - 1) / threads_;
    const int64_t fitting = std::max(2 * rows, kBlockFloats / (e.points * (e.inputs + e.outputs)));
    return std::max<int64_t>(1, std::min(fitting, shared));
  }
  int64_t floats_of_worker(const Extents& e) const {
    const int64_t block = block_of(e);
    return round_up(tiles::packed_product_scratch(tiles::tiles()), 16) + round_up(e.points * block * e.inputs, 16) +
           round_up(e.points * block * e.outputs, 16);
  }

  void run_block(const Extents& e, int64_t worker, int64_t first, int64_t count) const {
    const Tiles& t = tiles::tiles();
    const Conv& c = conv_;
    float* const local = scratch_ + worker * floats_of_worker(e);
    float* const transformed = local + round_up(tiles::packed_product_scratch(t), 16);
    float* const products = transformed + round_up(e.points * block_of(e) * e.inputs, 16);
    const float* const bias = weights_.floats() + e.points * e.weights;
    const float* const zeros = bias + e.outputs;
    const int64_t n = e.m + 2;
    const float* sources[36];
    float* targets[16];
    for (int64_t i = 0; i < count; ++i) {
      const Place at = place_of(e, first + i);
      for (int64_t y = 0; y < n; ++y) {
        for (int64_t x = 0; x < n; ++x) {
          const int64_t row = at.y - c.top + y, column = at.x - c.left + x;
          const bool is_inside = row >= 0 && row < c.height && column >= 0 && column < c.width;
          sources[y * n + x] = is_inside ? in_ + ((at.image * c.height + row) * c.width + column) * e.inputs : zeros;
        }
      }
      t.pixel_winograd_input(static_cast<int>(e.m), sources, e.inputs, transformed + i * e.inputs, count * e.inputs);
    }
    for (int64_t f = 0; f < e.points; ++f) {
      tiles::PackedProduct p{};
      p.n = e.outputs, p.k = e.inputs;
      p.a = transformed + f * count * e.inputs, p.lda = e.inputs;
      p.b = weights_.floats() + f * e.weights;
      p.c = products + f * count * e.outputs, p.ldc = e.outputs;
      tiles::multiply_packed(t, p, 0, count, 0, e.outputs, local);
    }
    for (int64_t i = 0; i < count; ++i) {
      const Place at = place_of(e, first + i);
      for (int64_t y = 0; y < e.m; ++y) {
        for (int64_t x = 0; x < e.m; ++x) {
          const bool is_inside = at.y + y < c.out_height && at.x + x < c.out_width;
          targets[y * e.m + x] =
              is_inside ? out_ + ((at.image * c.out_height + at.y + y) * c.out_width + at.x + x) * e.outputs : nullptr;
        }
      }
      t.pixel_winograd_output(static_cast<int>(e.m), products + i * e.outputs, count * e.outputs, e.outputs, bias,
                              bounds(), targets);
    }
  }

  struct Place {
    int64_t image, y, x;  // of the first output
  };
  static Place place_of(const Extents& e, int64_t tile) {
    return {tile / (e.rows * e.columns), tile / e.columns % e.rows * e.m, tile % e.columns * e.m};
  }

  const int64_t m_;
  PackedWeights weights_;
};

}  // namespace

Error make_winograd_step(const Graph& graph, const Node& node, const Operand* operands, size_t threads,
                         MemoryAllocator& allocator, Step** step) {
  const Conv c = conv_of(node, operands);
  if (c.kernel_h != 3 || c.kernel_w != 3 || c.stride_h != 1 || c.stride_w != 1 || c.dilation_h != 1 ||
      c.dilation_w != 1 || c.groups != 1 || c.inputs < 16 || c.outputs < 16) {
    return Error::Ok;
  }
  int64_t m = 0;
  for (const int64_t other : {2, 4}) m = cost_of(c, other) < 0.9 * cost_of(c, m) ? other : m;
  if (m == 0) return Error::Ok;
  const Tiles& t = tiles::tiles();
  const Extents e = extents_of(c, m);
  const float* filter = static_cast<const float*>(graph.values[node.inputs[1]].constant);
  const float* bias =
      node.inputs[2] == kNone ? nullptr : static_cast<const float*>(graph.values[node.inputs[2]].constant);
  // One output at a time is transformed: [9, inputs] to [points, inputs].
  const size_t plain_floats = static_cast<size_t>(e.points * e.inputs * e.outputs);
  const size_t count = static_cast<size_t>(e.points * e.weights + e.outputs + std::max(e.inputs, e.outputs));
  float* plain = static_cast<float*>(platform::allocate(plain_floats * sizeof(float), 64));
  RL_REQUIRE(plain != nullptr, MemoryAllocationFailed, "no memory to transform %zu weights", plain_floats);
  auto weights = PackedWeights::get(packing_key(graph, node, 3 + static_cast<uint64_t>(m)), count, [&](float* to) {
    const int64_t point = e.inputs * e.outputs;
    for (int64_t o = 0; o < e.outputs; ++o) {
      t.pixel_winograd_weights(static_cast<int>(m), filter + o * 9 * e.inputs, e.inputs, plain + o * e.inputs, point);
    }
    for (int64_t f = 0; f < e.points; ++f) {
      tiles::pack_right(t, true, plain + f * point, e.inputs, e.inputs, e.outputs, to + f * e.weights);
    }
    if (bias) std::copy(bias, bias + e.outputs, to + e.points * e.weights);
  });
  platform::release(plain);
  if (!weights.ok()) return weights.error();
  return make_in<WinogradStep>(allocator, step, node, threads, m, static_cast<PackedWeights&&>(*weights));
}

}  // namespace rushlight::xnnpack
