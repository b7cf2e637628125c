#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void unsqueeze_copy_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, Tensor& out) {
  int64_t axis;
  if (!normalize_dim(context, dim, in.dim() + 1, &axis) || !require_same_dtype(context, in, out)) return;
  Shape shape;
  for (int64_t i = 0; i <= in.dim(); ++i) shape.push(i == axis ? 1 : in.size(i < axis ? i : i - 1));
  if (!resize_out(context, out, shape.span())) return;
  copy_reshaped(context, in, out);
}

}  // namespace rushlight::portable
