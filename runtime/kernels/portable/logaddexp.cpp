#include <cmath>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void logaddexp_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  elementwise<kinds::kFloating>(context, {a, b}, out, result_type(a, b), [](auto) {
    return [](auto x, auto y) {
      if (std::isinf(x) && x == y) return x;
      const auto maximum = x > y ? x : y;
      return maximum + std::log1p(std::exp(-std::abs(x - y)));
    };
  });
}

}  // namespace rushlight::portable
