#include <cmath>
#include <optional>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void logit_out(KernelRuntimeContext& context, const Tensor& in, std::optional<double> eps, Tensor& out) {
  elementwise_float(context, in, out, [&](auto c) {
    using C = decltype(c);
    const bool clamps = eps.has_value();
    return [clamps, low = C(eps.value_or(0)), high = C(1) - C(eps.value_or(0))](C x) {
      if (clamps) x = x < low ? low : x > high ? high : x;
      return std::log(x / (1 - x));
    };
  });
}

}  // namespace rushlight::portable
