#include "kernels/portable/create.h"
#include "kernels/shared/fill.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {

void full_out(KernelRuntimeContext& context, Span<const int64_t> sizes, const Scalar& value, Tensor& out) {
  Shape shape;
  for (const int64_t size : sizes) shape.push(size);
  if (resize_out(context, out, shape.span())) fill_tensor(context, out, value);
}

}  // namespace rushlight::portable
