#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void hardsigmoid_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  elementwise<kinds::kFloating>(context, {in}, out, in.scalar_type(), [](auto) {
    return [](auto x) {
      using C = decltype(x);
      const C gate = x + 3;
      return (gate < 0 ? C(0) : gate > 6 ? C(6) : gate) / 6;
    };
  });
}

}  // namespace rushlight::portable
