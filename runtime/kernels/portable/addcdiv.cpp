#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void addcdiv_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& a, const Tensor& b, const Scalar& value,
                 Tensor& out) {
  const ScalarType common = result_type(in, a, b);
  elementwise<kinds::kFloating | kinds::kComplex>(context, {in, a, b}, out, common, [&](auto c) {
    using C = decltype(c);
    return [value = number_in<C>(value, compute_type(common))](C x, C y, C z) { return x + value * y / z; };
  });
}

}  // namespace rushlight::portable
