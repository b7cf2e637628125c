#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/slice.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void slice_copy_Tensor_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, std::optional<int64_t> start,
                           std::optional<int64_t> end, int64_t step, Tensor& out) {
  RL_KERNEL_REQUIRE(context, in.dim() > 0, InvalidArgument, "slice needs a tensor of rank 1 or more");
  int64_t axis;
  Slice slice;
  if (!normalize_dim(context, dim, in.dim(), &axis) || !resolve_slice(context, in.size(axis), start, end, step, &slice))
    return;
  Shape shape(in.sizes());
  shape.set(axis, slice.size);
  if (!require_same_dtype(context, in, out) || !resize_out(context, out, shape.span())) return;
  StridedLoops loops;
  for (int64_t i = 0; i < out.dim(); ++i) {
    loops.add(out.size(i), i == axis ? slice.step * in.stride(i) : in.stride(i), out.stride(i));
  }
  strided_copy(context, loops, at(in, slice.start * in.stride(axis)), out.mutable_data_ptr(), in.element_size());
}

}  // namespace rushlight::portable
