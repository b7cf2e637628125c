#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

bool gelu_out(KernelRuntimeContext& context, const Tensor& in, std::string_view approximate, Tensor& out) {
  if (approximate == "none") return map_unary(context, microkernels::UnaryOp::Gelu, in, out);
  return approximate == "tanh" && map_unary(context, microkernels::UnaryOp::GeluTanh, in, out);
}

}  // namespace rushlight::optimized
