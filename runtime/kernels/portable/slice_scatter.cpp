#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/slice.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void slice_scatter_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& src, int64_t dim,
                       std::optional<int64_t> start, std::optional<int64_t> end, int64_t step, Tensor& out) {
  RL_KERNEL_REQUIRE(context, in.dim() > 0, InvalidArgument, "slice_scatter needs a tensor of rank 1 or more");
  int64_t axis;
  Slice slice;
  if (!normalize_dim(context, dim, in.dim(), &axis) || !require_same_dtype(context, in, src) ||
      !require_same_dtype(context, in, out))
    return;
  if (!resolve_slice(context, in.size(axis), start, end, step, &slice)) return;
  Shape part(in.sizes());
  part.set(axis, slice.size);
  if (!require_shape(context, "src", src, part) || !resize_out(context, out, in.sizes())) return;
  copy_elements(context, in, out);
  StridedLoops loops;
  for (int64_t i = 0; i < src.dim(); ++i) {
    loops.add(src.size(i), src.stride(i), i == axis ? slice.step * out.stride(i) : out.stride(i));
  }
  strided_copy(context, loops, src.const_data_ptr(), at(out, slice.start * out.stride(axis)), in.element_size());
}

}  // namespace rushlight::portable
