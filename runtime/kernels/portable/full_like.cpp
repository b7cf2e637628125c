#include "kernels/portable/create.h"
#include "kernels/shared/fill.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {

void full_like_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& value,
                   std::optional<int64_t> memory_format, Tensor& out) {
  (void)memory_format;
  if (resize_out(context, out, in.sizes())) fill_tensor(context, out, value);
}

}  // namespace rushlight::portable
