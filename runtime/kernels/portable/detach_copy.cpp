#include "kernels/portable/elementwise.h"
#include "kernels/shared/convert_copy.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {

void detach_copy_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  if (resize_out_like(context, out, in)) convert_copy(context, in, out);
}

}  // namespace rushlight::portable
