#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/promotion.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void view_as_real_copy_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  RL_KERNEL_REQUIRE(context, is_complex(in.scalar_type()) && out.scalar_type() == real_type(in.scalar_type()),
                    InvalidArgument, "%s cannot be viewed as %s", dtype_name(in.scalar_type()),
                    dtype_name(out.scalar_type()));
  Shape shape(in.sizes());
  shape.push(2);
  if (!resize_out(context, out, shape.span())) return;
  StridedLoops loops;
  for (int64_t i = 0; i < in.dim(); ++i) loops.add(in.size(i), 2 * static_cast<int64_t>(in.stride(i)), out.stride(i));
  loops.add(2, 1, out.stride(in.dim()));
  strided_copy(context, loops, in.const_data_ptr(), out.mutable_data_ptr(), out.element_size());
}

}  // namespace rushlight::portable
