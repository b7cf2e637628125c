#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

namespace {

// Removes those axes in `mask` that have one element.
void squeeze(KernelRuntimeContext& context, const Tensor& in, uint32_t mask, Tensor& out) {
  if (!require_same_dtype(context, in, out)) return;
  Shape shape;
  for (int64_t i = 0; i < in.dim(); ++i) {
    if (in.size(i) != 1 || (mask >> i & 1u) == 0) shape.push(in.size(i));
  }
  if (!resize_out(context, out, shape.span())) return;
  copy_reshaped(context, in, out);
}

}  // namespace

void squeeze_copy_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  squeeze(context, in, UINT32_MAX, out);
}

void squeeze_copy_dim_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, Tensor& out) {
  squeeze_copy_dims_out(context, in, Span<const int64_t>(&dim, 1), out);
}

void squeeze_copy_dims_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, Tensor& out) {
  uint32_t mask;
  if (axis_mask(context, dims, in.dim(), &mask)) squeeze(context, in, mask, out);
}

}  // namespace rushlight::portable
