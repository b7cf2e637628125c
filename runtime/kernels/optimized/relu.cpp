#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"
#include "kernels/optimized/elementwise_whole.h"

namespace rushlight::optimized {

bool relu_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  if (is_whole(in)) return whole_clamp(context, in, Scalar(0), std::nullopt, out);
  return map_unary(context, tiles::UnaryOp::Relu, in, out);
}

}  // namespace rushlight::optimized
