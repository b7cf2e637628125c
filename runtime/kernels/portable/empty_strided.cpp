#include "kernels/portable/create.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {

void empty_strided_out(KernelRuntimeContext& context, Span<const int64_t> sizes, Span<const int64_t> strides,
                       Tensor& out) {
  (void)strides;
  Shape shape;
  for (const int64_t size : sizes) shape.push(size);
  resize_out(context, out, shape.span());
}

}  // namespace rushlight::portable
