#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

bool where_self_out(KernelRuntimeContext& context, const Tensor& condition, const Tensor& a, const Tensor& b,
                    Tensor& out) {
  return map_where(context, condition, a, b, out);
}

}  // namespace rushlight::optimized
