#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void clone_dim_order_out(KernelRuntimeContext& context, const Tensor& in, bool non_blocking,
                         std::optional<Span<const int64_t>> dim_order, Tensor& out) {
  (void)non_blocking;
  if (!require_same_dtype(context, in, out) || !require_dim_order(context, dim_order, out)) return;
  if (resize_out(context, out, in.sizes())) copy_elements(context, in, out);
}

}  // namespace rushlight::portable
