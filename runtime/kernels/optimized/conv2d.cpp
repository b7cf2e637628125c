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

bool is_pointwise(const Conv2d& conv) {
  return conv.kernel_d == 1 && conv.kernel_h == 1 && conv.kernel_w == 1 && conv.stride_d == 1 && conv.stride_h == 1 &&
         conv.stride_w == 1 && conv.pad_d == 0 && conv.pad_h == 0 && conv.pad_w == 0 && conv.out_depth == conv.depth &&
         conv.out_height == conv.height && conv.out_width == conv.width;
}

// Whether each group has one input channel, and depthwise microkernels support the convolution.
bool is_depthwise(const Conv2d& conv) {
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

// How BandedConv2d divides the work: a task computes `rows` rows of output, for one of output_parts parts of the
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
class BandedConv2d {
 public:
  BandedConv2d(const Conv2d& conv, int64_t workers)
      : conv_(conv), workers_(workers), division_(divide(kernels_, conv, workers)) {}

  // Allocates the scratch memory. Returns false, and records the failure, if there is none.
  bool prepare(KernelRuntimeContext& context) {
    if (channels_ * halo_.plane > INT32_MAX) {
      context.fail(Error::MemoryAllocationFailed, "a band of the padded input has 2^31 elements or more");
      return false;
    }
    scratch_ = context.allocate_temporary_array<float>(static_cast<size_t>(workers_ * worker_floats()));
    offsets_ = context.allocate_temporary_array<int32_t>(static_cast<size_t>(depth_));
    if (scratch_ == nullptr || offsets_ == nullptr) return false;
    for (int64_t k = 0; k < depth_; ++k) {
      const int64_t tap = k % taps_, offset = halo_.tap_offset(conv_, tap / conv_.kernel_w, tap % conv_.kernel_w);
      offsets_[k] = static_cast<int32_t>(k / taps_ * halo_.plane + offset);
    }
    return true;
  }

  void run(KernelRuntimeContext& context) const {
    const int64_t bands = (conv_.out_height + division_.rows - 1) / division_.rows, parts = division_.output_parts;
    const int64_t tasks = conv_.batch * conv_.groups * conv_.out_depth * bands * parts;
    microkernels::for_workers(context, workers_, tasks, [&](int64_t worker, int64_t begin, int64_t end) {
      float* const packed = scratch_ + worker * worker_floats();
      float* const padded = packed + gemm_floats_;
      std::memset(padded + channels_ * halo_.plane, 0, static_cast<size_t>(halo_.slack) * sizeof(float));
      for (int64_t i = begin; i < end; ++i) {
        const int64_t plane = i / (parts * bands), y = i / parts % bands * division_.rows;
        fill(plane, y, padded);
        multiply_band(plane, y, i % parts, padded, packed);
      }
    });
  }

 private:
  // The scratch memory of a worker: that of the GEMM, then the band of the padded input.
  int64_t worker_floats() const { return gemm_floats_ + round_up(channels_ * halo_.plane + halo_.slack, 16); }

  // Copies the band of the padded input for the output rows from y on. `plane` counts the output frames of the groups
  // of all images.
  void fill(int64_t plane, int64_t y, float* padded) const {
    const int64_t z = plane % conv_.out_depth, volume = plane / conv_.out_depth;
    const int64_t frame_floats = conv_.height * conv_.width;
    const float* const input = conv_.input + volume * (conv_.channels / conv_.groups) * conv_.depth * frame_floats;
    for (int64_t c = 0; c < channels_; ++c) {
      const int64_t frame = z * conv_.stride_d - conv_.pad_d + c % conv_.kernel_d * conv_.dilation_d;
      float* const to = padded + c * halo_.plane;
      if (frame < 0 || frame >= conv_.depth) {
        std::memset(to, 0, static_cast<size_t>(halo_.plane) * sizeof(float));
      } else {
        halo_.fill(kernels_, conv_, input + (c / conv_.kernel_d * conv_.depth + frame) * frame_floats, y, to);
      }
    }
  }

  // Computes one part of the output channels for the rows from y on.
  void multiply_band(int64_t plane, int64_t y, int64_t part, const float* padded, float* packed) const {
    const int64_t z = plane % conv_.out_depth, volume = plane / conv_.out_depth, group = volume % conv_.groups;
    const int64_t frame_floats = conv_.out_height * conv_.out_width, channel_floats = conv_.out_depth * frame_floats;
    const int64_t parts = division_.output_parts;
    F32Gemm gemm{};
    gemm.m = outputs_, gemm.n = std::min(division_.rows, conv_.out_height - y) * halo_.row, gemm.k = depth_;
    gemm.a = conv_.weight + group * outputs_ * depth_;
    gemm.lda = depth_;
    gemm.rhs = F32Gemm::Rhs::Gathered;
    gemm.b = padded;
    gemm.offsets = offsets_;
    gemm.bias_of = conv_.bias ? BiasOf::Rows : BiasOf::None;
    gemm.bias = conv_.bias ? conv_.bias + group * outputs_ : nullptr;
    gemm.c = conv_.out + volume * outputs_ * channel_floats + z * frame_floats + y * conv_.out_width;
    gemm.ldc = channel_floats;
    gemm.row = halo_.row;
    gemm.kept = conv_.out_width;
    multiply(kernels_, gemm, outputs_ * part / parts, outputs_ * (part + 1) / parts, 0, gemm.n, packed);
  }

  const F32Microkernels& kernels_ = microkernels::f32_microkernels();
  const Conv2d& conv_;
  const int64_t workers_;
  const Division division_;
  const int64_t channels_ = conv_.channels / conv_.groups * conv_.kernel_d;  // of a group, for all frames of the window
  const int64_t outputs_ = conv_.outputs / conv_.groups;                     // of a group
  const int64_t taps_ = conv_.kernel_h * conv_.kernel_w;
  const int64_t depth_ = channels_ * taps_;
  const Halo halo_{conv_, division_.rows, microkernels::column_step(kernels_)};
  const int64_t gemm_floats_ = round_up(gemm_scratch(kernels_, depth_, division_.rows* halo_.row), 16);
  float* scratch_ = nullptr;
  int32_t* offsets_ = nullptr;  // [depth], from a position of the band to the input of each channel and tap
};

bool general_conv2d(KernelRuntimeContext& context, const Conv2d& conv) {
  BandedConv2d banded(conv, microkernels::worker_count(context));
  if (!banded.prepare(context)) return false;
  banded.run(context);
  return true;
}

}  // namespace

bool conv2d(KernelRuntimeContext& context, const Conv2d& conv) {
  if (conv.batch * conv.outputs * conv.out_depth * conv.out_height * conv.out_width == 0) return true;
  if (is_pointwise(conv)) return pointwise_conv2d(context, conv);
  if (is_depthwise(conv)) return depthwise_conv2d(context, conv);
  if (!conv.is_volume() && supports_winograd(conv)) return conv2d_winograd(context, conv);
  return general_conv2d(context, conv);
}

}  // namespace rushlight::optimized
