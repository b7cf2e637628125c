#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/convert_copy.h"

namespace rushlight::portable {

void to_dim_order_copy_out(KernelRuntimeContext& context, const Tensor& in, bool non_blocking,
                           std::optional<Span<const int64_t>> dim_order, Tensor& out) {
  (void)non_blocking;
  if (!require_dim_order(context, dim_order, out) || !resize_out(context, out, in.sizes())) return;
  convert_copy(context, in, out);
}

}  // namespace rushlight::portable
