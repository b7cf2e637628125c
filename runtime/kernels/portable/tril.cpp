#include "kernels/portable/shape.h"
#include "kernels/shared/triangle.h"

namespace rushlight::portable {

void tril_out(KernelRuntimeContext& context, const Tensor& in, int64_t diagonal, Tensor& out) {
  copy_triangle(context, in, diagonal, true, out);
}

}  // namespace rushlight::portable
