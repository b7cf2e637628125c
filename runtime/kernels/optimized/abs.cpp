#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_integer.h"
#include "kernels/optimized/elementwise_map.h"
#include "kernels/shared/shape.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::optimized {

bool abs_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  if (in.scalar_type() == ScalarType::Byte && out.scalar_type() == ScalarType::Byte) {
    if (resize_out_like(context, out, in)) copy_elements(context, in, out);
    return true;
  }
  if (is_integer(in)) return integer_abs(context, in, out);
  return map_unary(context, microkernels::UnaryOp::Abs, in, out);
}

}  // namespace rushlight::optimized
