#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"

namespace rushlight::portable {

void empty_dim_order_out(KernelRuntimeContext& context, Span<const int64_t> sizes,
                         std::optional<Span<const int64_t>> dim_order, Tensor& out) {
  Shape shape;
  for (const int64_t size : sizes) shape.push(size);
  if (require_dim_order(context, dim_order, out)) resize_out(context, out, shape.span());
}

}  // namespace rushlight::portable
