#include <cmath>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void logaddexp2_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  elementwise<kinds::kFloating>(context, {a, b}, out, result_type(a, b), [](auto) {
    return [](auto x, auto y) {
      if (std::isinf(x) && x == y) return x;
      const auto maximum = x > y ? x : y;
      constexpr decltype(x) kLog2E = 1.4426950408889634;
      return maximum + std::log1p(std::exp2(-std::abs(x - y))) * kLog2E;
    };
  });
}

}  // namespace rushlight::portable
