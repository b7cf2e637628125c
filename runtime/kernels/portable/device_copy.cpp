#include "kernels/portable/shape.h"

namespace rushlight::portable {

void h2d_copy_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) { alias_copy_out(context, in, out); }

void d2h_copy_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) { alias_copy_out(context, in, out); }

}  // namespace rushlight::portable
