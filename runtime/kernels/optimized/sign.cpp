#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_integer.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

bool sign_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  if (is_integer(in)) {
    std::optional<Scalar> min;
    if (in.scalar_type() != ScalarType::Byte) min = -1;
    return integer_clamp(context, in, min, Scalar(1), out);
  }
  return map_unary(context, microkernels::UnaryOp::Sign, in, out);
}

}  // namespace rushlight::optimized
