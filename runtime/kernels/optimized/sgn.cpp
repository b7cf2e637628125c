#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

bool sgn_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) { return sign_out(context, in, out); }

}  // namespace rushlight::optimized
