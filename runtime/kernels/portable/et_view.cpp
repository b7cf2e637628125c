#include "kernels/portable/prim.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/view_size.h"

namespace rushlight::portable {

void et_view(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> sizes, Tensor& out) {
  Shape shape;
  if (!require_same_dtype(context, in, out) || !resolve_view_size(context, in.numel(), sizes, &shape)) return;
  out.impl()->data = in.mutable_data_ptr();
  out.impl()->capacity = in.nbytes();  // also of a constant, whose capacity is 0
  resize_out(context, out, shape.span());
  out.impl()->capacity = in.impl()->capacity;
}

}  // namespace rushlight::portable
