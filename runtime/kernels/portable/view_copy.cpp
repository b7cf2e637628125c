#include <cstring>

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

// Reinterprets the bytes as elements of another dtype. If the element sizes differ, the last dim grows or shrinks.
void view_copy_dtype_out(KernelRuntimeContext& context, const Tensor& in, ScalarType dtype, Tensor& out) {
  RL_KERNEL_REQUIRE(context, out.scalar_type() == dtype, InvalidArgument, "out has elements of %s, not %s",
                    dtype_name(out.scalar_type()), dtype_name(dtype));
  Shape shape(in.sizes());
  const int64_t from = static_cast<int64_t>(in.element_size()), to = static_cast<int64_t>(out.element_size());
  if (from != to) {
    const int64_t bytes = in.dim() > 0 ? in.size(in.dim() - 1) * from : 0;
    RL_KERNEL_REQUIRE(context, in.dim() > 0 && bytes % to == 0 && is_row_major(in) && is_row_major(out),
                      InvalidArgument,
                      "a tensor of %s cannot be viewed as %s, because its shape or its dim order does not allow it",
                      dtype_name(in.scalar_type()), dtype_name(dtype));
    shape.set(in.dim() - 1, bytes / to);
  }
  if (!resize_out(context, out, shape.span())) return;
  if (from == to) {
    copy_elements(context, in, out);
  } else if (in.numel() > 0) {
    std::memmove(out.mutable_data_ptr(), in.const_data_ptr(), in.nbytes());
  }
}

}  // namespace rushlight::portable
