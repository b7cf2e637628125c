#include <algorithm>
#include <limits>

#include "kernels/optimized/layout.h"
#include "kernels/optimized/nn.h"
#include "kernels/optimized/plane_window.h"
#include "kernels/shared/pooling.h"
#include "kernels/shared/row_major.h"
#include "microkernels/workers.h"

namespace rushlight::optimized {

bool max_pool2d_with_indices_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> kernel,
                                 Span<const int64_t> stride, Span<const int64_t> padding, Span<const int64_t> dilation,
                                 bool ceil_mode, Tensor& out, Tensor& indices) {
  if (!all_float(in, out) || indices.scalar_type() != ScalarType::Long) return false;
  Pooling pooling;
  Shape shape;
  if (!read_pooling(context, in, 2, kernel, stride, padding, dilation, ceil_mode, &pooling)) return true;
  const Window3d& w = pooling.window;
  if (w.stride[2] > 2) return false;
  if (!pooled_shape(context, pooling, in, &shape) || !resize_out(context, out, shape.span()) ||
      !resize_out(context, indices, shape.span())) {
    return true;
  }
  const ImageLayout from(in, 2), to(out, 2);
  if (out.numel() == 0) return true;
  if (from.volume() > INT32_MAX / 2) return false;
  const RowMajorInput images(context, in);
  RowMajorOutput largest(context, out), positions(context, indices);
  if (context.failed()) return true;
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  const microkernels::DepthwisePlane plane = pooled_plane(kernels, w, from, to);
  const int64_t size = plane_scratch(plane);
  const int64_t workers = microkernels::worker_count(context);
  float* scratch = context.allocate_temporary_array<float>(static_cast<size_t>(workers * size));
  if (scratch == nullptr) return true;
  std::fill(scratch, scratch + workers * size, -std::numeric_limits<float>::infinity());
  microkernels::for_workers(
      context, workers, from.batch * from.channels, [&](int64_t worker, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          kernels.max_pool(plane, images.data<float>() + i * from.volume(), largest.data<float>() + i * to.volume(),
                           positions.data<int64_t>() + i * to.volume(), scratch + worker * size);
        }
      });
  largest.finish();
  positions.finish();
  return true;
}

}  // namespace rushlight::optimized
