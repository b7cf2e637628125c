#include <cmath>
#include <type_traits>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void round_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  round_decimals_out(context, in, 0, out);
}

void round_decimals_out(KernelRuntimeContext& context, const Tensor& in, int64_t decimals, Tensor& out) {
  elementwise<kinds::kReal>(context, {in}, out, in.scalar_type(), [&](auto c) {
    using C = decltype(c);
    if constexpr (std::is_same_v<C, int64_t>) {
      return [](int64_t x) { return x; };
    } else {
      // Rounds ties to the even integer.
      const C scale = std::pow(C(10), std::abs(static_cast<C>(decimals)));
      return [scale, decimals](C x) {
        if (decimals == 0) return std::nearbyint(x);
        return decimals > 0 ? std::nearbyint(x * scale) / scale : std::nearbyint(x / scale) * scale;
      };
    }
  });
}

}  // namespace rushlight::portable
