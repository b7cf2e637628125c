#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void select_scatter_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& src, int64_t dim, int64_t index,
                        Tensor& out) {
  RL_KERNEL_REQUIRE(context, in.dim() > 0, InvalidArgument, "select_scatter needs a tensor of rank 1 or more");
  int64_t axis;
  if (!normalize_dim(context, dim, in.dim(), &axis) || !require_same_dtype(context, in, src) ||
      !require_same_dtype(context, in, out))
    return;
  const int64_t size = in.size(axis);
  RL_KERNEL_REQUIRE(context, index >= -size && index < size, InvalidArgument,
                    "index %lld is out of range for dim %lld of size %lld", static_cast<long long>(index),
                    static_cast<long long>(axis), static_cast<long long>(size));
  Shape part;
  for (int64_t i = 0; i < in.dim(); ++i) {
    if (i != axis) part.push(in.size(i));
  }
  if (!require_shape(context, "src", src, part) || !resize_out(context, out, in.sizes())) return;
  copy_elements(context, in, out);
  StridedLoops loops;
  for (int64_t i = 0; i < src.dim(); ++i) loops.add(src.size(i), src.stride(i), out.stride(i < axis ? i : i + 1));
  const int64_t start = (index < 0 ? index + size : index) * out.stride(axis);
  strided_copy(context, loops, src.const_data_ptr(), at(out, start), in.element_size());
}

}  // namespace rushlight::portable
