#include "kernels/portable/create.h"
#include "kernels/shared/random.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {

void rand_like_out(KernelRuntimeContext& context, const Tensor& in, std::optional<int64_t> memory_format, Tensor& out) {
  (void)memory_format;
  if (resize_out(context, out, in.sizes())) fill_uniform(context, out);
}

}  // namespace rushlight::portable
