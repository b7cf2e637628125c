#include "kernels/portable/elementwise.h"
#include "kernels/shared/convert_copy.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void to_copy_out(KernelRuntimeContext& context, const Tensor& in, bool, std::optional<int64_t>, Tensor& out) {
  if (resize_out_like(context, out, in)) convert_copy(context, in, out);
}

}  // namespace rushlight::portable
