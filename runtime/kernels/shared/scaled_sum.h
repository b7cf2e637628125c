#pragma once

#include <type_traits>

#include "kernels/shared/elementwise.h"
#include "kernels/shared/integer.h"

namespace rushlight {

// Computes x + alpha * y or x - alpha * y. Integers wrap around.
template <bool subtracts, typename C>
struct ScaledSum {
  C alpha;
  C operator()(C x, C y) const {
    if constexpr (std::is_same_v<C, int64_t>) {
      return subtracts ? wrap_sub(x, wrap_mul(alpha, y)) : wrap_add(x, wrap_mul(alpha, y));
    } else {
      return subtracts ? x - alpha * y : x + alpha * y;
    }
  }
};

// Does the same for alpha = 1.
template <bool subtracts>
struct PlainSum {
  template <typename C>
  C operator()(C x, C y) const {
    if constexpr (std::is_same_v<C, int64_t>) {
      return subtracts ? wrap_sub(x, y) : wrap_add(x, y);
    } else {
      return subtracts ? x - y : x + y;
    }
  }
};

template <bool subtracts>
void scaled_sum(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, const Scalar& alpha, Tensor& out) {
  const ScalarType common = result_type(a, b);
  if (alpha.to<double>() == 1) {
    elementwise<kinds::kAll>(context, {a, b}, out, common, [](auto) { return PlainSum<subtracts>(); }, true);
    return;
  }
  const auto function = [&](auto c) {
    using C = decltype(c);
    return ScaledSum<subtracts, C>{number_in<C>(alpha, compute_type(common))};
  };
  elementwise<kinds::kAll>(context, {a, b}, out, common, function, true);
}

template <bool subtracts>
void scaled_sum(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, const Scalar& alpha, Tensor& out) {
  const ScalarType common = result_type(a, b);
  elementwise<kinds::kAll>(context, {a}, out, common, [&](auto c) {
    using C = decltype(c);
    const ScaledSum<subtracts, C> sum{number_in<C>(alpha, compute_type(common))};
    return [sum, y = number_in<C>(b, compute_type(common))](C x) { return sum(x, y); };
  });
}

}  // namespace rushlight
