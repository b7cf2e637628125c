#include "kernels/optimized/reduction.h"

namespace rushlight::optimized {

bool max_unary_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  return amax_out(context, in, {}, false, out);
}

}  // namespace rushlight::optimized
