#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

bool isnan_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  return map_compare(context, microkernels::CompareOp::NotEqual, in, in, out);
}

}  // namespace rushlight::optimized
