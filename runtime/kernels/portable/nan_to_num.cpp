#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

namespace {

// Returns the largest finite number of a floating type.
double largest(ScalarType type) {
  if (type == ScalarType::Half) return 65504;
  if (type == ScalarType::BFloat16) return 0x1.fep127;
  return type == ScalarType::Float ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
}

}  // namespace

void nan_to_num_out(KernelRuntimeContext& context, const Tensor& in, std::optional<double> nan,
                    std::optional<double> posinf, std::optional<double> neginf, Tensor& out) {
  elementwise<kinds::kReal>(context, {in}, out, in.scalar_type(), [&](auto c) {
    using C = decltype(c);
    if constexpr (std::is_same_v<C, int64_t>) {
      return [](int64_t x) { return x; };
    } else {
      const C limit = static_cast<C>(largest(in.scalar_type()));
      const C high = posinf ? static_cast<C>(*posinf) : limit, low = neginf ? static_cast<C>(*neginf) : -limit;
      return [number = static_cast<C>(nan.value_or(0)), high, low](C x) {
        if (x != x) return number;
        return std::isinf(x) ? (x > 0 ? high : low) : x;
      };
    }
  });
}

}  // namespace rushlight::portable
