#include <cmath>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void frexp_out(KernelRuntimeContext& context, const Tensor& in, Tensor& mantissa, Tensor& exponent) {
  const ScalarType type = in.scalar_type();
  RL_KERNEL_REQUIRE(context, exponent.scalar_type() == ScalarType::Int, InvalidType,
                    "the exponents have dtype int32, not %s", dtype_name(exponent.scalar_type()));
  // The exponents are computed first, because `in` and `mantissa` may be the same tensor.
  if (!resize_out_like(context, exponent, in)) return;
  switch_compute<kinds::kFloating>(context, type, [&](auto tag) {
    using C = typename decltype(tag)::type;
    map_elements<C>(context, {in}, exponent, type, [](C x) {
      int power = 0;
      if (std::isfinite(x)) std::frexp(x, &power);
      return static_cast<int64_t>(power);
    });
  });
  elementwise<kinds::kFloating>(context, {in}, mantissa, type, [](auto c) {
    using C = decltype(c);
    return [](C x) {
      int power = 0;
      return std::isfinite(x) ? static_cast<C>(std::frexp(x, &power)) : x;
    };
  });
}

}  // namespace rushlight::portable
