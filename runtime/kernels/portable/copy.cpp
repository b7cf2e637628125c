#include "kernels/portable/elementwise.h"
#include "kernels/shared/convert_copy.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void copy_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& source, bool, Tensor& out) {
  if (resize_out_like(context, out, in)) convert_copy(context, source, out);
}

void copy_(KernelRuntimeContext& context, Tensor& in, const Tensor& source, bool) { convert_copy(context, source, in); }

}  // namespace rushlight::portable
