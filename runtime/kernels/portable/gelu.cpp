#include <cmath>
#include <string_view>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void gelu_out(KernelRuntimeContext& context, const Tensor& in, std::string_view approximate, Tensor& out) {
  const bool tanh = approximate == "tanh";
  RL_KERNEL_REQUIRE(context, tanh || approximate == "none", InvalidArgument,
                    "approximate is '%.*s', not 'none' or 'tanh'", static_cast<int>(approximate.size()),
                    approximate.data());
  const ScalarType type = in.scalar_type();
  if (tanh) {
    elementwise<kinds::kFloating>(context, {in}, out, type, [](auto) {
      return [](auto x) {
        using C = decltype(x);
        const C inner = C(0.7978845608028654) * (x + C(0.044715) * x * x * x);  // sqrt(2 / pi)
        return C(0.5) * x * (1 + std::tanh(inner));
      };
    });
  } else {
    elementwise<kinds::kFloating>(context, {in}, out, type, [](auto) {
      return [](auto x) {
        using C = decltype(x);
        return C(0.5) * x * (1 + std::erf(x * C(0.7071067811865476)));  // sqrt(1 / 2)
      };
    });
  }
}

}  // namespace rushlight::portable
