#include "kernels/optimized/conv2d.h"

#include <algorithm>
#include <cstring>

#include "core/rounding.h"
#include "kernels/optimized/gemm.h"
#include "kernels/optimized/halo.h"
#include "kernels/optimized/plane_window.h"
#include "microkernels/workers.h"

namespace rushlight::optimized {

using microkernels::BiasOf;
using microkernels::F32Gemm;
using microkernels::F32Microkernels;

namespace {

// Floats of padded input that fit into a worker's second-level cache.
constexpr int64_t kBandFloats = 256 * 1024;

// Returns the number of output rows per band. The padded input of a band fits into `floats`, and all bands of the
// `out_rows` rows have about the same number of rows.
int64_t band_rows(const Conv2d& conv, int64_t channels, int64_t out_rows, int64_t floats) {
  const Halo one(conv, 1, 0);
  const int64_t row = channels * one.phases_h * one.phases_w * one.row;
  const int64_t halo = one.rows - 1;
  const int64_t max_rows = std::max<int64_t>(1, floats / std::max<int64_t>(1, row) - halo);
  const int64_t bands = (out_rows + max_rows - 1) / max_rows;
  return (out_rows + bands - 1) / bands;
}

bool pointwise(const Conv2d& conv) {
  return conv.kernel_d == 1 && conv.kernel_h == 1 && conv.kernel_w == 1 && conv.stride_d == 1 && conv.stride_h == 1 &&
         conv.stride_w == 1 && conv.pad_d == 0 && conv.pad_h == 0 && conv.pad_w == 0 && conv.out_depth == conv.depth &&
         conv.out_height == conv.height && conv.out_width == conv.width;
}

// Whether each group has one input channel, and depthwise microkernels support the convolution.
bool depthwise(const Conv2d& conv) {
  return !conv.is_volume() && conv.channels == conv.groups && conv.outputs % conv.channels == 0 && conv.stride_w <= 2 &&
         conv.pad_h >= 0 && conv.pad_w >= 0;
}

// Convolution of single pixels: each image is a GEMM of the weights with the image.
bool pointwise_conv2d(KernelRuntimeContext& context, const Conv2d& conv) {
  const int64_t pixels = conv.depth * conv.height * conv.width;
  const int64_t channels = conv.channels / conv.groups;
  const int64_t outputs = conv.outputs / conv.groups;
  for (int64_t group = 0; group < conv.groups; ++group) {
    F32Gemm gemm{};
    gemm.m = outputs, gemm.n = pixels, gemm.k = channels;
    gemm.a = conv.weight + group * outputs * channels;
    gemm.lda = channels;
    gemm.rhs = F32Gemm::Rhs::Rows;
    gemm.b = conv.input + group * channels * pixels;
    gemm.ldb = pixels;
    gemm.bias_of = conv.bias ? BiasOf::Rows : BiasOf::None;
    gemm.bias = conv.bias ? conv.bias + group * outputs : nullptr;
    gemm.c = conv.out + group * outputs * pixels;
    gemm.ldc = pixels;
    if (!run_batched_gemm(context, gemm, conv.batch, {0, conv.channels * pixels, conv.outputs * pixels})) return false;
  }
  return true;
}

bool depthwise_conv2d(KernelRuntimeContext& context, const Conv2d& conv) {
  const F32Microkernels& kernels = microkernels::f32_microkernels();
  const int64_t multiplier = conv.outputs / conv.channels;
  const int64_t taps = conv.kernel_h * conv.kernel_w;
  microkernels::DepthwisePlane plane{conv, conv.height, conv.width, conv.out_height, conv.out_width, 1, 0};
  set_bands(kernels, &plane);
  const int64_t size = plane_scratch(plane);
  const int64_t workers = microkernels::worker_count(context);
  float* scratch = context.allocate_temporary_array<float>(static_cast<size_t>(workers * size));
  if (scratch == nullptr) return false;
  std::memset(scratch, 0, static_cast<size_t>(workers * size) * sizeof(float));
  const int64_t in_size = conv.height * conv.width;
  const int64_t out_size = conv.out_height * conv.out_width;
  microkernels::for_workers(
      context, workers, conv.batch * conv.outputs, [&](int64_t worker, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t output = i % conv.outputs;
          kernels.depthwise(plane, conv.input + i / multiplier * in_size, conv.weight + output * taps,
                            conv.bias ? conv.bias[output] : 0.0f, conv.out + i * out_size, scratch + worker * size);
        }
      });
  return true;
}

// How general_conv2d() divides the work: a task computes `rows` rows of output, for one of output_parts parts of the
// output channels of a group.
struct Division {
  int64_t rows, output_parts;
};

// Divides bands of rows among the workers if there are enough bands, else also output channels.
Division divide(const F32Microkernels& kernels, const Conv2d& conv, int64_t workers) {
  const int64_t planes = conv.batch * conv.groups * conv.out_depth, outputs = conv.outputs / conv.groups;
  const int64_t rows = band_rows(conv, conv.channels / conv.groups * conv.kernel_d, conv.out_height, kBandFloats);
  if (workers == 1 || planes % workers == 0) return {rows, 1};
  constexpr int64_t kMinRowsOfWorker = 6;
  if (planes * conv.out_height < kMinRowsOfWorker * workers) {
    return {rows, std::min(workers, (outputs + kernels.gemm_rows - 1) / kernels.gemm_rows)};
  }
  const int64_t bands = round_up((conv.out_height + rows - 1) / rows, workers);
  return {(conv.out_height + bands - 1) / bands, 1};
}

// Implicit GEMM: a worker copies a band of the padded input, and the rows of the GEMM's RHS are parts of this copy. For
// each output frame, the frames of its window are separate channels.
bool general_conv2d(KernelRuntimeContext& context, const Conv2d& conv) {
  const F32Microkernels& kernels = microkernels::f32_microkernels();
  const int64_t channels = conv.channels / conv.groups * conv.kernel_d;
  const int64_t outputs = conv.outputs / conv.groups;
  const int64_t taps = conv.kernel_h * conv.kernel_w;
  const int64_t depth = channels * taps;
  const int64_t workers = microkernels::worker_count(context);
  const Division division = divide(kernels, conv, workers);
  const int64_t rows = division.rows, output_parts = division.output_parts;
  const int64_t bands = (conv.out_height + rows - 1) / rows;
  const Halo halo(conv, rows, microkernels::column_step(kernels));
  // The scratch memory of a worker: that of the GEMM, then the band of the padded input.
  const int64_t packing = round_up(gemm_scratch(kernels, depth, rows * halo.row), 16);
  const int64_t size = packing + round_up(channels * halo.plane + halo.slack, 16);
  if (channels * halo.plane > INT32_MAX) {
    context.fail(Error::MemoryAllocationFailed, "a band of the padded input has 2^31 elements or more");
    return false;
  }
  float* scratch = context.allocate_temporary_array<float>(static_cast<size_t>(workers * size));
  int32_t* offsets = context.allocate_temporary_array<int32_t>(static_cast<size_t>(depth));
  if (scratch == nullptr || offsets == nullptr) return false;
  for (int64_t k = 0; k < depth; ++k) {
    const int64_t tap = k % taps;
    offsets[k] =
        static_cast<int32_t>(k / taps * halo.plane + halo.tap_offset(conv, tap / conv.kernel_w, tap % conv.kernel_w));
  }
  // Computes one part of the output channels for the rows from y on. `plane` counts the output frames of the groups of
  // all images.
  const auto compute = [&](int64_t plane, int64_t y, int64_t part, float* packed, float* padded) {
    const int64_t z = plane % conv.out_depth, volume = plane / conv.out_depth, group = volume % conv.groups;
    const float* const input =
        conv.input + volume * (conv.channels / conv.groups) * conv.depth * conv.height * conv.width;
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t frame = z * conv.stride_d - conv.pad_d + c % conv.kernel_d * conv.dilation_d;
      float* const to = padded + c * halo.plane;
      if (frame < 0 || frame >= conv.depth) {
        std::memset(to, 0, static_cast<size_t>(halo.plane) * sizeof(float));
      } else {
        const int64_t from = (c / conv.kernel_d * conv.depth + frame) * conv.height * conv.width;
        halo.fill(kernels, conv, input + from, y, to);
      }
    }
    const int64_t out_plane = conv.out_height * conv.out_width, out_channel = conv.out_depth * out_plane;
    F32Gemm gemm{};
    gemm.m = outputs, gemm.n = std::min(rows, conv.out_height - y) * halo.row, gemm.k = depth;
    gemm.a = conv.weight + group * outputs * depth;
    gemm.lda = depth;
    gemm.rhs = F32Gemm::Rhs::Gathered;
    gemm.b = padded;
    gemm.offsets = offsets;
    gemm.bias_of = conv.bias ? BiasOf::Rows : BiasOf::None;
    gemm.bias = conv.bias ? conv.bias + group * outputs : nullptr;
    gemm.c = conv.out + volume * outputs * out_channel + z * out_plane + y * conv.out_width;
    gemm.ldc = out_channel;
    gemm.row = halo.row;
    gemm.kept = conv.out_width;
    multiply(kernels, gemm, outputs * part / output_parts, outputs * (part + 1) / output_parts, 0, gemm.n, packed);
  };
  const int64_t tasks = conv.batch * conv.groups * conv.out_depth * bands * output_parts;
  microkernels::for_workers(context, workers, tasks, [&](int64_t worker, int64_t begin, int64_t end) {
    float* const packed = scratch + worker * size;
    float* const padded = packed + packing;
    std::memset(padded + channels * halo.plane, 0, static_cast<size_t>(halo.slack) * sizeof(float));
    for (int64_t i = begin; i < end; ++i) {
      compute(i / (output_parts * bands), i / output_parts % bands * rows, i % output_parts, packed, padded);
    }
  });
  return true;
}

}  // namespace

bool conv2d(KernelRuntimeContext& context, const Conv2d& conv) {
  if (conv.batch * conv.outputs * conv.out_depth * conv.out_height * conv.out_width == 0) return true;
  if (pointwise(conv)) return pointwise_conv2d(context, conv);
  if (depthwise(conv)) return depthwise_conv2d(context, conv);
  if (!conv.is_volume() && supports_winograd(conv)) return conv2d_winograd(context, conv);
  return general_conv2d(context, conv);
}

}  // namespace rushlight::optimized
