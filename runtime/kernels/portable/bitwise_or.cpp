#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void bitwise_or_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  elementwise<kinds::kInteger>(context, {a, b}, out, result_type(a, b),
                               [](auto) { return [](int64_t x, int64_t y) { return x | y; }; });
}

void bitwise_or_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out) {
  elementwise<kinds::kInteger>(context, {a}, out, result_type(a, b),
                               [&](auto) { return [y = b.to<int64_t>()](int64_t x) { return x | y; }; });
}

}  // namespace rushlight::portable
