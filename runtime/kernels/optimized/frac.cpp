#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"
#include "kernels/optimized/layout.h"

namespace rushlight::optimized {

bool frac_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  if (!is_float(in) || in.const_data_ptr() == out.const_data_ptr()) return false;
  return map_unary(context, microkernels::UnaryOp::Trunc, in, out) &&
         map_binary(context, microkernels::BinaryOp::Sub, in, out, out);
}

}  // namespace rushlight::optimized
