#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"
#include "kernels/optimized/wide_functions.h"

namespace rushlight::optimized {

bool sinh_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  return map_wide(context, wide_sinh, in, out);
}

}  // namespace rushlight::optimized
