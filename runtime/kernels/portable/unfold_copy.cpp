#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void unfold_copy_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, int64_t size, int64_t step,
                     Tensor& out) {
  int64_t axis;
  if (!normalize_dim(context, dim, in.dim(), &axis) || !require_same_dtype(context, in, out)) return;
  const int64_t length = size_at(in, axis);
  RL_KERNEL_REQUIRE(context, size >= 0 && size <= length && step > 0, InvalidArgument,
                    "windows of %lld elements with step %lld do not fit dim %lld of size %lld",
                    static_cast<long long>(size), static_cast<long long>(step), static_cast<long long>(axis),
                    static_cast<long long>(length));
  const int64_t windows = (length - size) / step + 1;
  if (windows == 1) step = 1;  // the step is not used, and its products with strides must not overflow
  Shape shape(in.sizes());
  if (in.dim() > 0) shape.set(axis, windows);
  shape.push(size);
  if (!resize_out(context, out, shape.span())) return;
  StridedLoops loops;
  for (int64_t i = 0; i < in.dim(); ++i) {
    loops.add(out.size(i), i == axis ? step * in.stride(i) : in.stride(i), out.stride(i));
  }
  loops.add(size, stride_at(in, axis), out.stride(in.dim()));
  strided_copy(context, loops, in.const_data_ptr(), out.mutable_data_ptr(), in.element_size());
}

}  // namespace rushlight::portable
