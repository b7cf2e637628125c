#include <algorithm>

#include "kernels/optimized/layout.h"
#include "kernels/optimized/nn.h"
#include "kernels/optimized/plane_window.h"
#include "kernels/shared/pooling.h"
#include "kernels/shared/row_major.h"
#include "microkernels/workers.h"

namespace rushlight::optimized {

namespace {

// Whether all windows have the same number of elements, so that all results have the same divisor.
bool is_even(const Window3d& w, int axis, int64_t size, int64_t out_size, bool count_padding) {
  return (w.padding[axis] == 0 || count_padding) &&
         (out_size - 1) * w.stride[axis] + w.kernel[axis] <= size + 2 * w.padding[axis];
}

}  // namespace

bool avg_pool2d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> kernel,
                    Span<const int64_t> stride, Span<const int64_t> padding, bool ceil_mode, bool count_include_pad,
                    std::optional<int64_t> divisor, Tensor& out) {
  if (!all_float(in, out) || (divisor && *divisor == 0)) return false;
  Pooling pooling;
  Shape shape;
  if (!read_pooling(context, in, 2, kernel, stride, padding, {}, ceil_mode, &pooling)) return true;
  const Window3d& w = pooling.window;
  if (w.stride[2] > 2) return false;
  if (!pooled_shape(context, pooling, in, &shape) || !resize_out(context, out, shape.span())) return true;
  const ImageLayout from(in, 2), to(out, 2);
  if (!is_even(w, 1, from.size[1], to.size[1], divisor || count_include_pad) ||
      !is_even(w, 2, from.size[2], to.size[2], divisor || count_include_pad)) {
    return false;
  }
  if (out.numel() == 0) return true;
  const RowMajorInput images(context, in);
  RowMajorOutput means(context, out);
  if (context.failed()) return true;
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  const microkernels::DepthwisePlane plane = pooled_plane(kernels, w, from, to);
  const int64_t size = plane_scratch(plane);
  const int64_t workers = microkernels::worker_count(context);
  float* scratch = context.allocate_temporary_array<float>(static_cast<size_t>(workers * size));
  float* ones = context.allocate_temporary_array<float>(static_cast<size_t>(w.taps()));
  if (scratch == nullptr || ones == nullptr) return true;
  std::fill(scratch, scratch + workers * size, 0.0f);
  std::fill(ones, ones + w.taps(), 1.0f);
  const float scale = 1.0f / static_cast<float>(divisor.value_or(w.taps()));
  microkernels::for_workers(
      context, workers, from.batch * from.channels, [&](int64_t worker, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          float* y = means.data<float>() + i * to.volume();
          kernels.depthwise(plane, images.data<float>() + i * from.volume(), ones, 0.0f, y, scratch + worker * size);
          kernels.unary(microkernels::UnaryOp::Affine, y, y, to.volume(), scale, 0.0f);
        }
      });
  means.finish();
  return true;
}

}  // namespace rushlight::optimized
