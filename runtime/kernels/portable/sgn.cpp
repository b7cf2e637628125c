#include <complex>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void sgn_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  elementwise<kinds::kAll>(context, {in}, out, in.scalar_type(), [](auto) {
    return [](auto x) {
      using C = decltype(x);
      if constexpr (is_complex_type<C>) {
        const auto size = std::abs(x);
        return size == 0 ? C(0) : x / size;
      } else {
        return C((x > 0) - (x < 0));
      }
    };
  });
}

}  // namespace rushlight::portable
