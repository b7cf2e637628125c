#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void alias_copy_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  if (!require_same_dtype(context, in, out) || !resize_out(context, out, in.sizes())) return;
  copy_elements(context, in, out);
}

}  // namespace rushlight::portable
