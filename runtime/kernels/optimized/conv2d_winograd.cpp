#include <algorithm>
#include <cstring>

#include "core/rounding.h"
#include "kernels/optimized/conv2d.h"
#include "kernels/optimized/halo.h"
#include "microkernels/gemm/f32.h"
#include "microkernels/workers.h"

namespace rushlight::optimized {

using microkernels::BiasOf;
using microkernels::F32Gemm;
using microkernels::F32Microkernels;

namespace {

// Maximum floats of transformed input and products per worker.
constexpr int64_t kBandFloats = 256 * 1024;
// With fewer tiles, the transform of the weights costs more than it saves.
constexpr int64_t kMinTiles = 36;
constexpr int64_t kMinChannels = 16;
// If the sums of squares are at most this, the transformed numbers and their products are finite.
constexpr double kMaxSquares = 1e30;

// Returns the geometry with 2 x 2 output tiles instead of outputs.
Conv2d over_tiles(const Conv2d& conv) {
  Conv2d tiled = conv;
  tiled.kernel_h = tiled.kernel_w = 4;
  tiled.stride_h = tiled.stride_w = 2;
  tiled.out_height = (conv.out_height + 1) / 2;
  tiled.out_width = (conv.out_width + 1) / 2;
  return tiled;
}

constexpr int64_t kPoints = 16;  // numbers of a transformed tile

// The scratch memory of a worker in floats: one padded channel, transformed input [kPoints, channels, row], products
// [kPoints, outputs, row], two rows of outputs, and that of the GEMM.
struct Sizes {
  int64_t padded, row, outputs, packing;
  // The distances between the matrices of two points. They are not powers of two, to avoid cache conflicts.
  int64_t input_step, product_step;
  int64_t all() const { return padded + kPoints * (input_step + product_step) + outputs + packing; }
};

Sizes sizes_of(const F32Microkernels& kernels, const Conv2d& conv, const Halo& halo, int64_t tiles_in_band,
               int64_t tiles_in_row) {
  Sizes s{};
  const int64_t width = kernels.width;
  s.padded = round_up(halo.plane + halo.slack, 16);
  s.row = round_up(tiles_in_band + width, 16);
  s.input_step = conv.channels * s.row + 16;
  s.product_step = conv.outputs * s.row + 16;
  s.outputs = 2 * round_up(2 * tiles_in_row + 2 * width, 16);
  s.packing = round_up(gemm_scratch(kernels, conv.channels, tiles_in_band), 16);
  return s;
}

// Returns the number of rows of tiles of a band. The transformed input and the products of a band fit into the cache.
int64_t band_rows(const Conv2d& conv, const Conv2d& tiled, int64_t workers) {
  const int64_t row_floats = kPoints * (conv.channels + conv.outputs) * tiled.out_width;
  const int64_t max_rows = std::max<int64_t>(1, kBandFloats / row_floats);
  int64_t bands = (tiled.out_height + max_rows - 1) / max_rows;
  if (conv.batch % workers != 0) bands = std::min(tiled.out_height, round_up(bands, workers));
  return (tiled.out_height + bands - 1) / bands;
}

}  // namespace

bool supports_winograd(const Conv2d& c) {
  const bool fits = c.kernel_h == 3 && c.kernel_w == 3 && c.stride_h == 1 && c.stride_w == 1 && c.dilation_h == 1 &&
                    c.dilation_w == 1 && c.groups == 1 && c.pad_h >= 0 && c.pad_w >= 0 && c.channels >= kMinChannels &&
                    c.outputs >= kMinChannels && (c.out_height + 1) / 2 * ((c.out_width + 1) / 2) >= kMinTiles;
  // An infinity or NaN would also change outputs that do not depend on it.
  const auto is_bounded = [](const float* x, int64_t n) {
    return microkernels::f32_microkernels().squared_deviations(x, n, 0.0f) <= kMaxSquares;
  };
  return fits && is_bounded(c.weight, c.outputs * c.channels * 9) &&
         is_bounded(c.input, c.batch * c.channels * c.height * c.width);
}

bool conv2d_winograd(KernelRuntimeContext& context, const Conv2d& conv) {
  const F32Microkernels& kernels = microkernels::f32_microkernels();
  const Conv2d tiled = over_tiles(conv);
  const int64_t workers = microkernels::worker_count(context);
  const int64_t tile_rows = tiled.out_height, tile_columns = tiled.out_width;
  const int64_t rows = band_rows(conv, tiled, workers), bands = (tile_rows + rows - 1) / rows;
  const Halo halo(tiled, rows, kernels.width);
  const Sizes size = sizes_of(kernels, conv, halo, rows * tile_columns, tile_columns);
  const int64_t filters = conv.outputs * conv.channels + 16;  // floats from point to point of the filters
  float* scratch = context.allocate_temporary_array<float>(static_cast<size_t>(workers * size.all()));
  float* weights = context.allocate_temporary_array<float>(static_cast<size_t>(kPoints * filters));
  if (scratch == nullptr || weights == nullptr) return false;
  context.parallel_for(0, conv.outputs, std::max<int64_t>(1, 4096 / conv.channels), [&](int64_t begin, int64_t end) {
    const int64_t first = begin * conv.channels;
    kernels.winograd_weights(conv.weight + first * 9, (end - begin) * conv.channels, weights + first, filters);
  });
  int32_t offsets[kPoints];
  for (int64_t tap = 0; tap < kPoints; ++tap)
    offsets[tap] = static_cast<int32_t>(halo.tap_offset(tiled, tap / 4, tap % 4));
  // Transforms the input of `count` rows of tiles, from row `first` on.
  const auto transform = [&](int64_t image, int64_t first, int64_t count, float* padded, float* input) {
    for (int64_t c = 0; c < conv.channels; ++c) {
      halo.fill(kernels, tiled, conv.input + (image * conv.channels + c) * conv.height * conv.width, first, padded);
      for (int64_t y = 0; y < count; ++y) {
        kernels.winograd_input(padded + y * halo.row, offsets, tile_columns, input + c * size.row + y * tile_columns,
                               size.input_step);
      }
    }
  };
  // Multiplies the filters and the input of each point.
  const auto multiply_points = [&](int64_t count, const float* input, float* products, float* packing) {
    for (int64_t point = 0; point < kPoints; ++point) {
      F32Gemm gemm{};
      gemm.m = conv.outputs, gemm.n = count * tile_columns, gemm.k = conv.channels;
      gemm.a = weights + point * filters, gemm.lda = conv.channels;
      gemm.rhs = F32Gemm::Rhs::Rows;
      gemm.b = input + point * size.input_step, gemm.ldb = size.row;
      gemm.bias_of = BiasOf::None;
      gemm.c = products + point * size.product_step, gemm.ldc = size.row;
      multiply(kernels, gemm, 0, gemm.m, 0, gemm.n, packing);
    }
  };
  // Transforms the products of rows of tiles. Each row gives two rows of outputs, `upper` and `lower`.
  const auto finish = [&](int64_t image, int64_t first, int64_t count, const float* products, float* upper) {
    float* const lower = upper + size.outputs / 2;
    for (int64_t o = 0; o < conv.outputs; ++o) {
      for (int64_t y = 0; y < count; ++y) {
        kernels.winograd_output(products + o * size.row + y * tile_columns, size.product_step, tile_columns,
                                conv.bias ? conv.bias[o] : 0.0f, upper, lower);
        const int64_t line = 2 * (first + y);
        float* const to = conv.out + ((image * conv.outputs + o) * conv.out_height + line) * conv.out_width;
        kernels.copy_strided(upper, 1, conv.out_width, to);
        if (line + 1 < conv.out_height) kernels.copy_strided(lower, 1, conv.out_width, to + conv.out_width);
      }
    }
  };
  microkernels::for_workers(context, workers, conv.batch * bands, [&](int64_t worker, int64_t begin, int64_t end) {
    float* const padded = scratch + worker * size.all();
    float* const input = padded + size.padded;
    float* const products = input + kPoints * size.input_step;
    float* const outputs = products + kPoints * size.product_step;
    std::memset(padded + halo.plane, 0, static_cast<size_t>(size.padded - halo.plane) * sizeof(float));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / bands, first = i % bands * rows;
      const int64_t count = std::min(rows, tile_rows - first);
      transform(image, first, count, padded, input);
      multiply_points(count, input, products, outputs + size.outputs);
      finish(image, first, count, products, outputs);
    }
  });
  return true;
}

}  // namespace rushlight::optimized
