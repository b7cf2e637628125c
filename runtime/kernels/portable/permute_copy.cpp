#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void permute_copy_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, Tensor& out) {
  uint32_t mask;
  RL_KERNEL_REQUIRE(context, static_cast<int64_t>(dims.size()) == in.dim(), InvalidArgument,
                    "a permutation of %zu dims does not match a tensor of rank %lld", dims.size(),
                    static_cast<long long>(in.dim()));
  if (!axis_mask(context, dims, in.dim(), &mask) || !require_same_dtype(context, in, out)) return;
  Shape shape;
  for (const int64_t dim : dims) shape.push(in.size(dim < 0 ? dim + in.dim() : dim));
  if (!resize_out(context, out, shape.span())) return;
  StridedLoops loops;
  for (int64_t i = 0; i < out.dim(); ++i) {
    const int64_t from = dims[i] < 0 ? dims[i] + in.dim() : dims[i];
    loops.add(out.size(i), in.stride(from), out.stride(i));
  }
  strided_copy(context, loops, in.const_data_ptr(), out.mutable_data_ptr(), in.element_size());
}

}  // namespace rushlight::portable
