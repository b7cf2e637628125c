#include "kernels/optimized/float_remainder.h"

#include "kernels/optimized/elementwise_blocks.h"
#include "kernels/optimized/layout.h"
#include "kernels/shared/element_loops.h"

namespace rushlight::optimized {

namespace {

bool run(KernelRuntimeContext& context, bool floor, const RowOperand& a, const RowOperand& b, const Tensor& out) {
  return for_element_blocks<float>(context, a, b, out, [floor](const float* x, const float* y, float* z, int64_t n) {
    float_remainders(floor, x, y, z, n);
  });
}

}  // namespace

bool float_remainder(KernelRuntimeContext& context, bool floor, const Tensor& a, const Tensor& b, const Tensor& out) {
  return all_float(a, b, out) && run(context, floor, RowOperand(a), RowOperand(b), out);
}

bool float_remainder(KernelRuntimeContext& context, bool floor, const Tensor& a, const Scalar& b, const Tensor& out) {
  const auto number = b.to<float>();
  return all_float(a, out) && run(context, floor, RowOperand(a), RowOperand(&number, sizeof(number)), out);
}

}  // namespace rushlight::optimized
