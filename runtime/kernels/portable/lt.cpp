#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void lt_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  elementwise<kinds::kReal>(context, {a, b}, out, result_type(a, b),
                            [](auto) { return [](auto x, auto y) { return x < y; }; });
}

void lt_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out) {
  const ScalarType common = result_type(a, b);
  elementwise<kinds::kReal>(context, {a}, out, common, [&](auto c) {
    using C = decltype(c);
    return [y = number_in<C>(b, common)](C x) { return x < y; };
  });
}

}  // namespace rushlight::portable
