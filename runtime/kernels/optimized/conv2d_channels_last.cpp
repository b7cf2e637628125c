#include <algorithm>
#include <cstring>

#include "core/rounding.h"
#include "kernels/optimized/conv2d.h"
#include "kernels/optimized/gemm.h"
#include "microkernels/workers.h"

namespace rushlight::optimized {

using microkernels::BiasOf;
using microkernels::F32Gemm;
using microkernels::F32Microkernels;

namespace {

// Floats of gathered input that fit into a worker's second-level cache.
constexpr int64_t kGatheredFloats = 96 * 1024;
constexpr int64_t kMinPixels = 48;  // pixels of a block, even if their windows need more floats

bool is_pointwise(const Conv2d& c) {
  return c.groups == 1 && c.kernel_h == 1 && c.kernel_w == 1 && c.stride_h == 1 && c.stride_w == 1 && c.pad_h == 0 &&
         c.pad_w == 0;
}

// 1 x 1 convolution: a GEMM of the input pixels with the transposed weights.
bool pointwise_conv2d(KernelRuntimeContext& context, const Conv2d& c) {
  F32Gemm gemm{};
  gemm.m = c.batch * c.height * c.width, gemm.n = c.outputs, gemm.k = c.channels;
  gemm.a = c.input, gemm.lda = c.channels;
  gemm.rhs = F32Gemm::Rhs::Transposed;
  gemm.b = c.weight, gemm.ldb = c.channels;
  gemm.bias_of = c.bias ? BiasOf::Columns : BiasOf::None;
  gemm.bias = c.bias;
  gemm.c = c.out, gemm.ldc = c.outputs;
  return run_gemm(context, gemm);
}

// Returns the image pixel that tap (ky, kx) reads for output pixel (y, x), or -1 in the padding.
int64_t source_pixel(const Conv2d& c, int64_t y, int64_t x, int64_t ky, int64_t kx) {
  const int64_t iy = y * c.stride_h - c.pad_h + ky * c.dilation_h;
  const int64_t ix = x * c.stride_w - c.pad_w + kx * c.dilation_w;
  return iy < 0 || iy >= c.height || ix < 0 || ix >= c.width ? -1 : iy * c.width + ix;
}

bool depthwise_conv2d(KernelRuntimeContext& context, const Conv2d& c) {
  const F32Microkernels& kernels = microkernels::f32_microkernels();
  const int64_t taps = c.kernel_h * c.kernel_w;
  const int64_t workers = microkernels::worker_count(context);
  // [taps, channels]
  float* weights = context.allocate_temporary_array<float>(static_cast<size_t>(taps * c.channels));
  float* zeros = context.allocate_temporary_array<float>(static_cast<size_t>(c.channels));
  const float** sources = context.allocate_temporary_array<const float*>(static_cast<size_t>(workers * taps));
  if (weights == nullptr || zeros == nullptr || sources == nullptr) return false;
  for (int64_t tap = 0; tap < taps; ++tap) {
    kernels.copy_strided(c.weight + tap, taps, c.channels, weights + tap * c.channels);
  }
  std::fill(zeros, zeros + c.channels, 0.0f);
  microkernels::for_workers(context, workers, c.batch * c.out_height, [&](int64_t worker, int64_t begin, int64_t end) {
    const float** from = sources + worker * taps;
    for (int64_t i = begin; i < end; ++i) {
      const float* image = c.input + i / c.out_height * c.height * c.width * c.channels;
      for (int64_t x = 0; x < c.out_width; ++x) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          const int64_t pixel = source_pixel(c, i % c.out_height, x, tap / c.kernel_w, tap % c.kernel_w);
          from[tap] = pixel < 0 ? zeros : image + pixel * c.channels;
        }
        kernels.depthwise_pixel(from, weights, taps, c.channels, c.bias, c.out + (i * c.out_width + x) * c.channels);
      }
    }
  });
  return true;
}

// Copies the windows [kernel_h, kernel_w, channels of a group] of output pixels [first, first + count), counted over
// all images, one after the other. Padding is zero.
void gather_windows(const Conv2d& c, int64_t group, int64_t first, int64_t count, float* to) {
  const int64_t channels = c.channels / c.groups;
  const auto bytes = static_cast<size_t>(channels) * sizeof(float);
  for (int64_t pixel = first; pixel < first + count; ++pixel) {
    const int64_t x = pixel % c.out_width, line = pixel / c.out_width;
    const float* const image = c.input + line / c.out_height * c.height * c.width * c.channels + group * channels;
    for (int64_t ky = 0; ky < c.kernel_h; ++ky) {
      for (int64_t kx = 0; kx < c.kernel_w; ++kx, to += channels) {
        const int64_t source = source_pixel(c, line % c.out_height, x, ky, kx);
        if (source < 0) {
          std::memset(to, 0, bytes);
        } else {
          std::memcpy(to, image + source * c.channels, bytes);
        }
      }
    }
  }
}

// im2col for a block of output pixels at a time: their windows are gathered into rows and multiplied by the weights.
bool general_conv2d(KernelRuntimeContext& context, const Conv2d& c) {
  const F32Microkernels& kernels = microkernels::f32_microkernels();
  const int64_t outputs = c.outputs / c.groups;
  const int64_t depth = c.channels / c.groups * c.kernel_h * c.kernel_w;
  const int64_t pixels = c.batch * c.out_height * c.out_width;
  const int64_t workers = microkernels::worker_count(context);
  int64_t block = std::max(kMinPixels, kGatheredFloats / std::max<int64_t>(1, depth));
  block = round_up(std::min(block, (pixels + workers - 1) / workers), kernels.gemm_rows);
  const int64_t packing = round_up(gemm_scratch(kernels, depth, outputs), 16);
  const int64_t size = packing + round_up(block * depth, 16);
  float* scratch = context.allocate_temporary_array<float>(static_cast<size_t>(workers * size));
  if (scratch == nullptr) return false;
  const int64_t blocks = (pixels + block - 1) / block;
  microkernels::for_workers(context, workers, blocks * c.groups, [&](int64_t worker, int64_t begin, int64_t end) {
    float* packed = scratch + worker * size;
    float* gathered = packed + packing;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t group = i % c.groups;
      const int64_t first = i / c.groups * block;
      const int64_t count = std::min(block, pixels - first);
      gather_windows(c, group, first, count, gathered);
      F32Gemm gemm{};
      gemm.m = count, gemm.n = outputs, gemm.k = depth;
      gemm.a = gathered, gemm.lda = depth;
      gemm.rhs = F32Gemm::Rhs::Transposed;
      gemm.b = c.weight + group * outputs * depth, gemm.ldb = depth;
      gemm.bias_of = c.bias ? BiasOf::Columns : BiasOf::None;
      gemm.bias = c.bias ? c.bias + group * outputs : nullptr;
      gemm.c = c.out + first * c.outputs + group * outputs, gemm.ldc = c.outputs;
      multiply(kernels, gemm, 0, count, 0, outputs, packed);
    }
  });
  return true;
}

}  // namespace

bool conv2d_channels_last(KernelRuntimeContext& context, const Conv2d& c) {
  if (c.batch == 0 || c.outputs == 0 || c.out_height == 0 || c.out_width == 0) return true;
  if (is_pointwise(c)) return pointwise_conv2d(context, c);
  if (c.channels == c.groups && c.outputs == c.channels) return depthwise_conv2d(context, c);
  return general_conv2d(context, c);
}

}  // namespace rushlight::optimized
