#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void unbind_copy_int_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, Span<Tensor> out) {
  RL_KERNEL_REQUIRE(context, in.dim() > 0, InvalidArgument, "unbind needs a tensor of rank 1 or more");
  int64_t axis;
  if (!normalize_dim(context, dim, in.dim(), &axis)) return;
  RL_KERNEL_REQUIRE(context, static_cast<int64_t>(out.size()) == in.size(axis), InvalidArgument,
                    "dim %lld has %lld elements, but there are %zu output tensors", static_cast<long long>(axis),
                    static_cast<long long>(in.size(axis)), out.size());
  for (size_t i = 0; i < out.size() && !context.failed(); ++i) {
    select_copy_int_out(context, in, axis, static_cast<int64_t>(i), out[i]);
  }
}

}  // namespace rushlight::portable
