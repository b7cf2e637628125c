#include <cmath>
#include <optional>
#include <string_view>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/checked_division.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

namespace {

enum class Rounding { None, Trunc, Floor, Unknown };

Rounding rounding_of(std::optional<std::string_view> mode) {
  if (!mode) return Rounding::None;
  if (*mode == "trunc") return Rounding::Trunc;
  return *mode == "floor" ? Rounding::Floor : Rounding::Unknown;
}

struct Quotient {
  template <typename C>
  C operator()(C x, C y) const {
    return x / y;
  }
};

// Calls use(f), where f: (C, C) -> C divides with the rounding mode.
template <typename C, typename Use>
void rounded_quotient(Rounding rounding, ZeroDivision& zero, const Use& use) {
  if constexpr (std::is_same_v<C, int64_t>) {
    if (rounding == Rounding::Floor) return use(Checked<floor_div>{&zero});
    use(Checked<trunc_div>{&zero});
  } else {
    if (rounding == Rounding::Floor) return use([](C x, C y) { return floor_quotient(x, y); });
    use([](C x, C y) { return std::trunc(x / y); });
  }
}

bool require_known(KernelRuntimeContext& context, Rounding rounding) {
  if (rounding != Rounding::Unknown) return true;
  context.fail(Error::InvalidArgument, "rounding_mode is not None, 'trunc' or 'floor'");
  return false;
}

}  // namespace

void div_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  elementwise<kinds::kFloating | kinds::kComplex>(
      context, {a, b}, out, float_result(result_type(a, b)), [](auto) { return Quotient(); }, true);
}

void div_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out) {
  const ScalarType common = float_result(result_type(a, b));
  elementwise<kinds::kFloating | kinds::kComplex>(context, {a}, out, common, [&](auto c) {
    using C = decltype(c);
    return [y = number_in<C>(b, compute_type(common))](C x) { return x / y; };
  });
}

void div_out_mode(KernelRuntimeContext& context, const Tensor& a, const Tensor& b,
                  std::optional<std::string_view> rounding_mode, Tensor& out) {
  const Rounding rounding = rounding_of(rounding_mode);
  if (!require_known(context, rounding)) return;
  if (rounding == Rounding::None) return div_out(context, a, b, out);
  const Tensor inputs[] = {a, b};
  const ScalarType common = result_type(a, b);
  if (!require_cast(context, common, out) || !resize_to_broadcast(context, inputs, out)) return;
  ZeroDivision zero;
  switch_compute<kinds::kReal>(context, common, [&](auto tag) {
    using C = typename decltype(tag)::type;
    rounded_quotient<C>(rounding, zero, [&](auto f) { map_elements<C>(context, inputs, out, common, f, true); });
  });
  zero.report(context);
}

void div_scalar_mode_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b,
                         std::optional<std::string_view> rounding_mode, Tensor& out) {
  const Rounding rounding = rounding_of(rounding_mode);
  if (!require_known(context, rounding)) return;
  if (rounding == Rounding::None) return div_scalar_out(context, a, b, out);
  const ScalarType common = result_type(a, b);
  if (!require_cast(context, common, out) || !resize_out_like(context, out, a)) return;
  ZeroDivision zero;
  switch_compute<kinds::kReal>(context, common, [&](auto tag) {
    using C = typename decltype(tag)::type;
    rounded_quotient<C>(rounding, zero, [&](auto f) {
      const C y = number_in<C>(b, divisor_type(common));
      map_elements<C>(context, {a}, out, common, [f, y](C x) { return f(x, y); });
    });
  });
  zero.report(context);
}

}  // namespace rushlight::portable
