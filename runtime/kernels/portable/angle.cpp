#include <complex>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void angle_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  // The angle of a real number is 0 or pi. The angle of NaN is NaN.
  elementwise<kinds::kFloating | kinds::kComplex>(context, {in}, out, float_result(in.scalar_type()), [](auto) {
    return [](auto x) {
      using C = decltype(x);
      if constexpr (is_complex_type<C>) {
        return std::arg(x);
      } else {
        return x != x ? x : x < 0 ? C(3.141592653589793) : C(0);
      }
    };
  });
}

}  // namespace rushlight::portable
