#include "kernels/optimized/reduction.h"
#include "kernels/optimized/softmax_rows.h"

namespace rushlight::optimized {

bool softmax_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool, Tensor& out) {
  return softmax_over(context, false, in, dim, out);
}

}  // namespace rushlight::optimized
