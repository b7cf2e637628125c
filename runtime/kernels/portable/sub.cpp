#include "kernels/portable/elementwise.h"
#include "kernels/shared/scaled_sum.h"

namespace rushlight::portable {

void sub_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, const Scalar& alpha, Tensor& out) {
  scaled_sum<true>(context, a, b, alpha, out);
}

void sub_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, const Scalar& alpha, Tensor& out) {
  scaled_sum<true>(context, a, b, alpha, out);
}

}  // namespace rushlight::portable
