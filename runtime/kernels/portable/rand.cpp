#include "kernels/portable/create.h"
#include "kernels/shared/random.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {

void rand_out(KernelRuntimeContext& context, Span<const int64_t> sizes, Tensor& out) {
  Shape shape;
  for (const int64_t size : sizes) shape.push(size);
  if (resize_out(context, out, shape.span())) fill_uniform(context, out);
}

}  // namespace rushlight::portable
