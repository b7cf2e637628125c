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

// The scratch memory of a worker.
struct Scratch {
  float* padded;         // one padded channel
  float* input;          // transformed input [kPoints, channels, row]
  float* products;       // [kPoints, outputs, row]
  float *upper, *lower;  // two rows of outputs
  float* packing;        // for the GEMM
};

// The sizes of the scratch memory in floats.
struct Sizes {
  int64_t padded, row, outputs, packing;
  // The distances between the matrices of two points. They are not powers of two, to avoid cache conflicts.
  int64_t input_step, product_step;

  int64_t all() const { return padded + kPoints * (input_step + product_step) + outputs + packing; }
  Scratch divide(float* memory) const {
    float* const input = memory + padded;
    float* const products = input + kPoints * input_step;
    float* const upper = products + kPoints * product_step;
    return {memory, input, products, upper, upper + outputs / 2, upper + outputs};
  }
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

// One convolution. Its images are divided into bands of `rows` rows of tiles, and a worker computes one band at a time.
class Winograd {
 public:
  Winograd(const F32Microkernels& kernels, const Conv2d& conv, int64_t workers)
      : kernels_(kernels),
        conv_(conv),
        tiled_(over_tiles(conv)),
        rows_(band_rows(conv, tiled_, workers)),
        bands_((tiled_.out_height + rows_ - 1) / rows_),
        halo_(tiled_, rows_, kernels.width),
        size_(sizes_of(kernels, conv, halo_, rows_ * tiled_.out_width, tiled_.out_width)) {
    for (int64_t tap = 0; tap < kPoints; ++tap) {
      offsets_[tap] = static_cast<int32_t>(halo_.tap_offset(tiled_, tap / 4, tap % 4));
    }
  }

  // If there is no scratch memory, records the failure and returns false.
  bool run(KernelRuntimeContext& context, int64_t workers) {
    float* const scratch = context.allocate_temporary_array<float>(static_cast<size_t>(workers * size_.all()));
    weights_ = context.allocate_temporary_array<float>(static_cast<size_t>(kPoints * weight_step()));
    if (scratch == nullptr || weights_ == nullptr) return false;
    context.parallel_for(0, conv_.outputs, std::max<int64_t>(1, 4096 / conv_.channels),
                         [&](int64_t begin, int64_t end) {
                           const int64_t first = begin * conv_.channels;
                           kernels_.winograd_weights(conv_.weight + first * 9, (end - begin) * conv_.channels,
                                                     weights_ + first, weight_step());
                         });
    microkernels::for_workers(context, workers, conv_.batch * bands_, [&](int64_t worker, int64_t begin, int64_t end) {
      const Scratch own = size_.divide(scratch + worker * size_.all());
      std::memset(own.padded + halo_.plane, 0, static_cast<size_t>(size_.padded - halo_.plane) * sizeof(float));
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % bands_ * rows_;
        const Band band{i / bands_, first, std::min(rows_, tiled_.out_height - first)};
        transform_input(band, own);
        multiply_points(band, own);
        write_outputs(band, own);
      }
    });
    return true;
  }

 private:
  struct Band {
    int64_t image, first, count;  // `count` rows of tiles from row `first` on
  };

  int64_t weight_step() const { return conv_.outputs * conv_.channels + 16; }  // floats from point to point

  void transform_input(const Band& band, const Scratch& scratch) const {
    for (int64_t c = 0; c < conv_.channels; ++c) {
      const float* const channel = conv_.input + (band.image * conv_.channels + c) * conv_.height * conv_.width;
      halo_.fill(kernels_, tiled_, channel, band.first, scratch.padded);
      for (int64_t y = 0; y < band.count; ++y) {
        kernels_.winograd_input(scratch.padded + y * halo_.row, offsets_, tiled_.out_width,
                                scratch.input + c * size_.row + y * tiled_.out_width, size_.input_step);
      }
    }
  }

  // Multiplies the transformed weights of each point by its transformed input.
  void multiply_points(const Band& band, const Scratch& scratch) const {
    for (int64_t point = 0; point < kPoints; ++point) {
      F32Gemm gemm{};
      gemm.m = conv_.outputs, gemm.n = band.count * tiled_.out_width, gemm.k = conv_.channels;
      gemm.a = weights_ + point * weight_step(), gemm.lda = conv_.channels;
      gemm.rhs = F32Gemm::Rhs::Rows;
      gemm.b = scratch.input + point * size_.input_step, gemm.ldb = size_.row;
      gemm.bias_of = BiasOf::None;
      gemm.c = scratch.products + point * size_.product_step, gemm.ldc = size_.row;
      multiply(kernels_, gemm, 0, gemm.m, 0, gemm.n, scratch.packing);
    }
  }

  // Transforms the products. Each row of tiles gives two rows of outputs.
  void write_outputs(const Band& band, const Scratch& scratch) const {
    for (int64_t o = 0; o < conv_.outputs; ++o) {
      for (int64_t y = 0; y < band.count; ++y) {
        kernels_.winograd_output(scratch.products + o * size_.row + y * tiled_.out_width, size_.product_step,
                                 tiled_.out_width, conv_.bias ? conv_.bias[o] : 0.0f, scratch.upper, scratch.lower);
        const int64_t line = 2 * (band.first + y);
        float* const to = conv_.out + ((band.image * conv_.outputs + o) * conv_.out_height + line) * conv_.out_width;
        kernels_.copy_strided(scratch.upper, 1, conv_.out_width, to);
        if (line + 1 < conv_.out_height) {
          kernels_.copy_strided(scratch.lower, 1, conv_.out_width, to + conv_.out_width);
        }
      }
    }
  }

  const F32Microkernels& kernels_;
  const Conv2d& conv_;
  const Conv2d tiled_;  // its outputs are tiles
  const int64_t rows_, bands_;
  const Halo halo_;
  const Sizes size_;
  int32_t offsets_[kPoints];  // of the elements of an input tile, see F32Microkernels::winograd_input
  float* weights_ = nullptr;  // transformed [kPoints, outputs, channels]
};

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
  const int64_t workers = microkernels::worker_count(context);
  return Winograd(microkernels::f32_microkernels(), conv, workers).run(context, workers);
}

}  // namespace rushlight::optimized
