#include "kernels/portable/create.h"

namespace rushlight::portable {

void ones_out(KernelRuntimeContext& context, Span<const int64_t> sizes, Tensor& out) {
  full_out(context, sizes, 1, out);
}

}  // namespace rushlight::portable
