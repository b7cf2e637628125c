#include <algorithm>

#include "kernels/optimized/int8_gemm.h"
#include "kernels/optimized/quantized.h"
#include "kernels/optimized/quantized_arguments.h"
#include "kernels/quantized/bytes.h"
#include "kernels/shared/convolution.h"
#include "kernels/shared/strided_copy.h"
#include "microkernels/conv/int8.h"
#include "microkernels/workers.h"

namespace rushlight::optimized {

using microkernels::Int8Gemm;
using microkernels::Int8Microkernels;
using microkernels::Int8Window;

namespace {

// Output pixels of one task, and the number of multiplications below which one thread computes all tasks.
constexpr int64_t kTaskPixels = 96, kSerialMultiplications = 1 << 16;

// Whether an image is channels-last: batch, pixels, channels. The strides of axes of size 1 are ignored.
bool has_channels_last(const ImageLayout& image) {
  int64_t expected = 1;
  const auto fits = [&](int64_t size, int64_t stride) {
    const bool is_dense = size == 1 || stride == expected;
    expected *= size;
    return is_dense;
  };
  bool is_dense = fits(image.channels, image.channel_stride);
  for (int axis = 2; axis >= 0; --axis) is_dense = fits(image.size[axis], image.stride[axis]) && is_dense;
  return fits(image.batch, image.batch_stride) && is_dense;
}

// Returns loops that copy an image to channels-last memory or, with `to_image`, back.
StridedLoops channels_last_loops(const ImageLayout& image, bool to_image) {
  StridedLoops loops;
  int64_t step = image.channels * image.volume();
  const auto add = [&](int64_t size, int64_t stride, int64_t last) {
    loops.add(size, to_image ? last : stride, to_image ? stride : last);
  };
  add(image.batch, image.batch_stride, step);
  for (int axis = 0; axis < 3; ++axis) {
    step /= std::max<int64_t>(image.size[axis], 1);
    add(image.size[axis], image.stride[axis], step);
  }
  add(image.channels, image.channel_stride, 1);
  return loops;
}

// Returns the weight as [outputs of all groups, taps, inputs of a group].
const int8_t* read_filters(KernelRuntimeContext& context, const Convolution& c, const Tensor& weight, int64_t inputs,
                           int64_t outputs) {
  const ImageLayout w(weight, c.dims);
  if (!c.transposed && (c.window.taps() == 1 ? w.batch_stride == inputs : has_channels_last(w))) {
    return weight.const_data_ptr<int8_t>();
  }
  int8_t* const filters = context.allocate_temporary_array<int8_t>(static_cast<size_t>(weight.numel()));
  if (filters == nullptr) return nullptr;
  // The weights are [outputs, inputs of a group] or, transposed, [inputs, outputs of a group].
  StridedLoops loops;
  int64_t step = inputs * c.window.taps();
  loops.add(c.groups, (c.transposed ? inputs : outputs) * w.batch_stride, outputs * step);
  loops.add(outputs, c.transposed ? w.channel_stride : w.batch_stride, step);
  for (int axis = 0; axis < 3; ++axis) {
    step /= w.size[axis];
    loops.add(w.size[axis], w.stride[axis], step);
  }
  loops.add(inputs, c.transposed ? w.batch_stride : w.channel_stride, 1);
  strided_copy(context, loops, weight.const_data_ptr(), filters, 1);
  return filters;
}

void run_depthwise(KernelRuntimeContext& context, const Int8Window& w, const int8_t* filters,
                   microkernels::Requantize requantize, int64_t pixels, uint8_t* out) {
  const Int8Microkernels& kernels = microkernels::int8_microkernels();
  const int64_t taps = w.taps(),
                workers = pixels * taps * w.channels < kSerialMultiplications ? 1 : microkernels::worker_count(context);
  const size_t scratch_size = (microkernels::depthwise_scratch(w) + 63) / 64 * 64;
  const auto size = static_cast<size_t>(microkernels::packed_filters_size(w.channels, taps));
  int16_t* const weights = context.allocate_temporary_array<int16_t>(size);
  int32_t* const corrections = context.allocate_temporary_array<int32_t>(static_cast<size_t>(w.channels));
  uint8_t* const scratch = context.allocate_temporary_array<uint8_t>(static_cast<size_t>(workers) * scratch_size);
  if (context.failed()) return;
  microkernels::pack_filters(filters, taps, 1, w.channels, taps, weights);
  microkernels::filter_corrections(weights, w.channels, taps, w.zero, nullptr, corrections);
  requantize.correction = corrections;
  microkernels::for_workers(context, workers, pixels, [&](int64_t worker, int64_t begin, int64_t end) {
    microkernels::convolve_depthwise(kernels, {&w, weights, requantize, out}, begin, end,
                                     scratch + static_cast<size_t>(worker) * scratch_size);
  });
}

// Computes all groups; workers share the groups and their parts. `gemm` is the product of the first group.
void run_groups(KernelRuntimeContext& context, const Int8Window& w, const Int8Gemm& gemm, int64_t groups,
                int64_t inputs) {
  const Int8Microkernels& kernels = microkernels::int8_microkernels();
  const int64_t parts = (gemm.m + kTaskPixels - 1) / kTaskPixels, workers = microkernels::worker_count(context);
  const size_t scratch_size = (microkernels::gemm_scratch(kernels, gemm.k) + 63) / 64 * 64;
  uint8_t* const scratch = context.allocate_temporary_array<uint8_t>(static_cast<size_t>(workers) * scratch_size);
  if (scratch == nullptr) return;
  microkernels::for_workers(context, workers, groups * parts, [&](int64_t worker, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t g = i / parts, first = i % parts * kTaskPixels;
      const microkernels::Int8Gather gather{&kernels, &w, g * inputs, inputs};
      Int8Gemm p = gemm;
      microkernels::set_lhs(&p, gather);
      p.columns += g * p.n * p.k;
      p.requantize.multiplier += g * p.n;
      if (p.requantize.offset) p.requantize.offset += g * p.n;
      p.out = static_cast<uint8_t*>(p.out) + g * p.n;
      microkernels::multiply(kernels, p, first, std::min(first + kTaskPixels, p.m), 0, p.n,
                             scratch + static_cast<size_t>(worker) * scratch_size);
    }
  });
}

// Returns the pixels of an image, which are copied if they are not channels-last. Returns null after a failure.
const uint8_t* channels_last_pixels(KernelRuntimeContext& context, const Tensor& in, const ImageLayout& image) {
  if (has_channels_last(image)) return in.const_data_ptr<uint8_t>();
  uint8_t* const copy = context.allocate_temporary_array<uint8_t>(static_cast<size_t>(in.numel()));
  if (copy) strided_copy(context, channels_last_loops(image, false), in.const_data_ptr(), copy, 1);
  return copy;
}

// Returns the window of a convolution without its input.
Int8Window window_of(const Convolution& c, const ImageLayout& in, const ImageLayout& out) {
  Int8Window w{};
  static_cast<Window3d&>(w) = c.window;
  w.channels = in.channels, w.transposed = c.transposed;
  for (int axis = 0; axis < 3; ++axis) {
    w.size[axis] = in.size[axis], w.out_size[axis] = out.size[axis];
  }
  return w;
}

}  // namespace

bool quantized_convolution_out(KernelRuntimeContext& context, const Tensor& in, double in_scale, int64_t in_zero,
                               const Tensor& weight, const Tensor& weight_scales, const std::optional<Tensor>& bias,
                               Span<const int64_t> stride, Span<const int64_t> padding, Span<const int64_t> dilation,
                               bool transposed, Span<const int64_t> output_padding, int64_t groups, double scale,
                               int64_t zero, int64_t quant_min, int64_t quant_max, Tensor& out) {
  const int64_t in_zero_point = zero_of(in, in_zero);
  if (!quantized::is_byte(in) || weight.scalar_type() != ScalarType::Char || in_zero_point < -128 ||
      in_zero_point > 127 || !is_small_zero(zero)) {
    return false;
  }
  Convolution c;
  if (!quantized::require_output(context, out, quant_min, quant_max) ||
      !read_convolution(context, in, weight, stride, padding, dilation, transposed, output_padding, groups, &c)) {
    return true;
  }
  const Shape shape = convolved_shape(c, in, weight);
  const int64_t outputs = shape.sizes[shape.dim - c.dims - 1];
  if ((weight_scales.numel() != outputs && weight_scales.numel() != 1) || (bias && bias->numel() != outputs)) {
    return false;
  }
  if (!resize_out(context, out, shape.span()) || out.numel() == 0) return true;
  const ImageLayout from(in, c.dims), to(out, c.dims);
  if (from.channels == 0) return false;

  Int8Gemm p{};
  const int64_t inputs = from.channels / c.groups;
  if (!requantize_to(context, {in_scale, weight_scales, bias, scale, zero, quant_min, quant_max}, outputs,
                     &p.requantize)) {
    return true;
  }
  p.columns = read_filters(context, c, weight, inputs, outputs / c.groups);
  const uint8_t* const pixels = channels_last_pixels(context, in, from);
  const bool copies_out = !has_channels_last(to);
  uint8_t* results = out.mutable_data_ptr<uint8_t>();
  if (copies_out) results = context.allocate_temporary_array<uint8_t>(static_cast<size_t>(out.numel()));
  if (context.failed()) return true;

  Int8Window w = window_of(c, from, to);
  w.in = pixels, w.sign_mask = sign_mask_of(in), w.zero = static_cast<int8_t>(in_zero_point);
  const auto zero_point = static_cast<int32_t>(in_zero_point);
  p.m = from.batch * w.out_pixels(), p.n = outputs / c.groups;
  p.out_kind = Int8Gemm::Out::Quantized;
  p.zeros = &zero_point;
  p.out = results, p.out_stride = outputs;
  const microkernels::Int8Gather gather{&microkernels::int8_microkernels(), &w, 0, inputs};
  microkernels::set_lhs(&p, gather);
  p.column_stride = p.k;
  if (inputs == 1 && p.n == 1 && c.groups > 1) {
    run_depthwise(context, w, p.columns, p.requantize, p.m, results);
  } else if (c.groups > 1) {
    run_groups(context, w, p, c.groups, inputs);
  } else if (!run_int8_gemm(context, p)) {
    return true;
  }
  if (copies_out && !context.failed()) {
    strided_copy(context, channels_last_loops(to, true), results, out.mutable_data_ptr(), 1);
  }
  return true;
}

}  // namespace rushlight::optimized
