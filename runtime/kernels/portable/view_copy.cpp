#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/strided_copy.h"
#include "kernels/shared/view_size.h"

namespace rushlight::portable {

void view_copy_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> sizes, Tensor& out) {
  Shape shape;
  if (!require_same_dtype(context, in, out) || !resolve_view_size(context, in.numel(), sizes, &shape)) return;
  if (!resize_out(context, out, shape.span())) return;
  copy_reshaped(context, in, out);
}

}  // namespace rushlight::portable
