#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void select_copy_int_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, int64_t index, Tensor& out) {
  RL_KERNEL_REQUIRE(context, in.dim() > 0, InvalidArgument, "select needs a tensor of rank 1 or more");
  int64_t axis;
  if (!normalize_dim(context, dim, in.dim(), &axis) || !require_same_dtype(context, in, out)) return;
  const int64_t size = in.size(axis);
  RL_KERNEL_REQUIRE(context, index >= -size && index < size, InvalidArgument,
                    "index %lld is out of range for dim %lld of size %lld", static_cast<long long>(index),
                    static_cast<long long>(axis), static_cast<long long>(size));
  Shape shape;
  for (int64_t i = 0; i < in.dim(); ++i) {
    if (i != axis) shape.push(in.size(i));
  }
  if (!resize_out(context, out, shape.span())) return;
  StridedLoops loops;
  for (int64_t i = 0; i < out.dim(); ++i) loops.add(out.size(i), in.stride(i < axis ? i : i + 1), out.stride(i));
  const int64_t start = (index < 0 ? index + size : index) * in.stride(axis);
  strided_copy(context, loops, at(in, start), out.mutable_data_ptr(), in.element_size());
}

}  // namespace rushlight::portable
