#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

namespace {

template <typename Other>
bool sub(KernelRuntimeContext& context, const Tensor& a, const Other& b, const Scalar& alpha, Tensor& out) {
  const float scale = alpha.to<float>();
  if (scale == 1.0f) return map_binary(context, microkernels::BinaryOp::Sub, a, b, out);
  return map_binary(context, microkernels::BinaryOp::AddScaled, a, b, out, -scale);
}

}  // namespace

bool sub_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, const Scalar& alpha, Tensor& out) {
  return sub(context, a, b, alpha, out);
}

bool sub_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, const Scalar& alpha, Tensor& out) {
  return sub(context, a, b, alpha, out);
}

}  // namespace rushlight::optimized
