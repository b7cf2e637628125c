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

// The scratch memory of a worker: one padded channel, transformed input, products, and two rows of outputs.
struct Sizes {
  int64_t padded, row, outputs, packing;
  int64_t input_step, product_step;  // distances of the 16 matrices; not a power of two, to avoid cache conflicts
  int64_t all() const { return padded + 16 * (input_step + product_step) + outputs + packing; }
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
  const int64_t row_floats = 16 * (conv.channels + conv.outputs) * tile_columns;
  const int64_t max_rows = std::max<int64_t>(1, kBandFloats / row_floats);
  int64_t bands = (tile_rows + max_rows - 1) / max_rows;
  if (conv.batch % workers != 0) bands = std::min(tile_rows, round_up(bands, workers));
  const int64_t rows = (tile_rows + bands - 1) / bands;
  bands = (tile_rows + rows - 1) / rows;
  const Halo halo(tiled, rows, kernels.width);
  const Sizes size = sizes_of(kernels, conv, halo, rows * tile_columns, tile_columns);
  const int64_t filters = conv.outputs * conv.channels + 16;
  float* scratch = context.allocate_temporary_array<float>(static_cast<size_t>(workers * size.all()));
  float* weights = context.allocate_temporary_array<float>(static_cast<size_t>(16 * filters));
  if (scratch == nullptr || weights == nullptr) return false;
  context.parallel_for(0, conv.outputs, std::max<int64_t>(1, 4096 / conv.channels), [&](int64_t begin, int64_t end) {
    const int64_t first = begin * conv.channels;
    kernels.winograd_weights(conv.weight + first * 9, (end - begin) * conv.channels, weights + first, filters);
  });
  int32_t offsets[16];
  for (int64_t tap = 0; tap < 16; ++tap) offsets[tap] = static_cast<int32_t>(halo.tap_offset(tiled, tap / 4, tap % 4));
  microkernels::for_workers(context, workers, conv.batch * bands, [&](int64_t worker, int64_t begin, int64_t end) {
    float* padded = scratch + worker * size.all();
    float* input = padded + size.padded;
    float* products = input + 16 * size.input_step;
    float* outputs = products + 16 * size.product_step;
    float* packing = outputs + size.outputs;
    std::memset(padded + halo.plane, 0, static_cast<size_t>(size.padded - halo.plane) * sizeof(float));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / bands;
      const int64_t first = i % bands * rows;
      const int64_t count = std::min(rows, tile_rows - first);
      for (int64_t c = 0; c < conv.channels; ++c) {
        halo.fill(kernels, tiled, conv.input + (image * conv.channels + c) * conv.height * conv.width, first, padded);
        for (int64_t y = 0; y < count; ++y) {
          kernels.winograd_input(padded + y * halo.row, offsets, tile_columns, input + c * size.row + y * tile_columns,
                                 size.input_step);
        }
      }
      for (int64_t f = 0; f < 16; ++f) {
        F32Gemm gemm{};
        gemm.m = conv.outputs, gemm.n = count * tile_columns, gemm.k = conv.channels;
        gemm.a = weights + f * filters, gemm.lda = conv.channels;
        gemm.rhs = F32Gemm::Rhs::Rows;
        gemm.b = input + f * size.input_step, gemm.ldb = size.row;
        gemm.bias_of = BiasOf::None;
        gemm.c = products + f * size.product_step, gemm.ldc = size.row;
        multiply(kernels, gemm, 0, gemm.m, 0, gemm.n, packing);
      }
      for (int64_t o = 0; o < conv.outputs; ++o) {
        for (int64_t y = 0; y < count; ++y) {
          float* upper = outputs;
          float* lower = outputs + size.outputs / 2;
          kernels.winograd_output(products + o * size.row + y * tile_columns, size.product_step, tile_columns,
                                  conv.bias ? conv.bias[o] : 0.0f, upper, lower);
          const int64_t line = 2 * (first + y);
          float* to = conv.out + ((image * conv.outputs + o) * conv.out_height + line) * conv.out_width;
          kernels.copy_strided(upper, 1, conv.out_width, to);
          if (line + 1 < conv.out_height) kernels.copy_strided(lower, 1, conv.out_width, to + conv.out_width);
        }
      }
    }
  });
  return true;
}

}  // namespace rushlight::optimized
