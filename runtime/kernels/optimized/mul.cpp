#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_blocks.h"
#include "kernels/optimized/elementwise_map.h"
#include "kernels/shared/element_loops.h"

namespace rushlight::optimized {

namespace {

bool is_complex_float(const Tensor& tensor) { return tensor.scalar_type() == ScalarType::ComplexFloat; }

}  // namespace

bool mul_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  if (is_complex_float(a) && is_complex_float(b) && is_complex_float(out)) {
    return for_element_blocks<ComplexFloat>(context, RowOperand(a), RowOperand(b), out, multiply_complex);
  }
  return map_binary(context, microkernels::BinaryOp::Mul, a, b, out);
}

bool mul_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out) {
  if (is_complex_float(a) && is_complex_float(out)) {
    const ComplexFloat number(b.to<float>());
    return for_element_blocks<ComplexFloat>(context, RowOperand(a), RowOperand(&number, sizeof(number)), out,
                                            multiply_complex);
  }
  return map_binary(context, microkernels::BinaryOp::Mul, a, b, out);
}

}  // namespace rushlight::optimized
