#include <cmath>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

namespace {

// Returns the next 16-bit number after x in the direction of y. For numbers of the same sign, the magnitude increases
// with the bits as an unsigned integer.
template <typename T>
float next_of_16_bits(float x, float y) {
  if (std::isnan(x) || std::isnan(y)) return x + y;
  if (x == y) return y;
  T next(x);
  if (x == 0) {
    next.bits = y < 0 ? 0x8001 : 0x0001;
  } else {
    next.bits = static_cast<uint16_t>((x < y) == (x > 0) ? next.bits + 1 : next.bits - 1);
  }
  return next;
}

}  // namespace

void nextafter_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  const ScalarType common = result_type(a, b);
  if (common == ScalarType::Half || common == ScalarType::BFloat16) {
    const auto next = common == ScalarType::Half ? &next_of_16_bits<Half> : &next_of_16_bits<BFloat16>;
    elementwise<kinds::kFloating>(context, {a, b}, out, common, [next](auto c) {
      using C = decltype(c);
      return [next](C x, C y) { return static_cast<C>(next(static_cast<float>(x), static_cast<float>(y))); };
    });
    return;
  }
  elementwise<kinds::kFloating>(context, {a, b}, out, common,
                                [](auto) { return [](auto x, auto y) { return std::nextafter(x, y); }; });
}

}  // namespace rushlight::portable
