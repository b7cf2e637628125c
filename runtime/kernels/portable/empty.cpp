#include "kernels/portable/create.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {

void empty_out(KernelRuntimeContext& context, Span<const int64_t> sizes, std::optional<int64_t> memory_format,
               Tensor& out) {
  (void)memory_format;
  Shape shape;
  for (const int64_t size : sizes) shape.push(size);
  resize_out(context, out, shape.span());
}

}  // namespace rushlight::portable
