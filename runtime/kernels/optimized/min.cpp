#include "kernels/optimized/reduction.h"

namespace rushlight::optimized {

bool min_unary_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  return amin_out(context, in, {}, false, out);
}

}  // namespace rushlight::optimized
