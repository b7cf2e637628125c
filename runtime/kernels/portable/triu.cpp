#include "kernels/portable/shape.h"
#include "kernels/shared/triangle.h"

namespace rushlight::portable {

void triu_out(KernelRuntimeContext& context, const Tensor& in, int64_t diagonal, Tensor& out) {
  copy_triangle(context, in, diagonal, false, out);
}

}  // namespace rushlight::portable
