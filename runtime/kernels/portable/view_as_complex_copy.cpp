#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/promotion.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void view_as_complex_copy_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  RL_KERNEL_REQUIRE(context, is_complex(out.scalar_type()) && in.scalar_type() == real_type(out.scalar_type()),
                    InvalidArgument, "%s cannot be viewed as %s", dtype_name(in.scalar_type()),
                    dtype_name(out.scalar_type()));
  const int64_t rank = in.dim() - 1;
  RL_KERNEL_REQUIRE(context, rank >= 0 && in.size(rank) == 2, InvalidArgument,
                    "a tensor that is viewed as complex needs a last dim of size 2");
  Shape shape;
  for (int64_t i = 0; i < rank; ++i) shape.push(in.size(i));
  if (!resize_out(context, out, shape.span())) return;
  StridedLoops loops;
  for (int64_t i = 0; i < rank; ++i) loops.add(in.size(i), in.stride(i), 2 * static_cast<int64_t>(out.stride(i)));
  loops.add(2, in.stride(rank), 1);
  strided_copy(context, loops, in.const_data_ptr(), out.mutable_data_ptr(), in.element_size());
}

}  // namespace rushlight::portable
