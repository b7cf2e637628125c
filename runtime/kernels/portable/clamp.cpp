#include "kernels/shared/clamp.h"

#include <limits>
#include <optional>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void clamp_out(KernelRuntimeContext& context, const Tensor& in, const std::optional<Scalar>& min,
               const std::optional<Scalar>& max, Tensor& out) {
  RL_KERNEL_REQUIRE(context, min || max, InvalidArgument, "neither min nor max is given");
  ResultType type = ResultType().with(in);
  if (min) type.with(*min);
  if (max) type.with(*max);
  const ScalarType common = type.get();
  elementwise<kinds::kReal>(context, {in}, out, common, [&](auto c) {
    using C = decltype(c);
    using Limits = std::numeric_limits<C>;
    const C low = min ? number_in<C>(*min, common) : Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    const C high = max ? number_in<C>(*max, common) : Limits::has_infinity ? Limits::infinity() : Limits::max();
    return [low, high](C x) { return limited(x, low, high); };
  });
}

void clamp_tensor_out(KernelRuntimeContext& context, const Tensor& in, const std::optional<Tensor>& min,
                      const std::optional<Tensor>& max, Tensor& out) {
  RL_KERNEL_REQUIRE(context, min || max, InvalidArgument, "neither min nor max is given");
  if (min && max) {
    elementwise<kinds::kReal>(context, {in, *min, *max}, out, result_type(in, *min, *max),
                              [](auto) { return [](auto x, auto low, auto high) { return limited(x, low, high); }; });
  } else if (min) {
    elementwise<kinds::kReal>(context, {in, *min}, out, result_type(in, *min),
                              [](auto) { return [](auto x, auto low) { return x != x ? x : at_least(x, low); }; });
  } else {
    elementwise<kinds::kReal>(context, {in, *max}, out, result_type(in, *max),
                              [](auto) { return [](auto x, auto high) { return x != x ? x : at_most(x, high); }; });
  }
}

}  // namespace rushlight::portable
