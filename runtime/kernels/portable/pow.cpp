#include <cmath>
#include <type_traits>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"
#include "kernels/shared/integer.h"

namespace rushlight::portable {

namespace {

template <typename C>
C power(C x, C y) {
  if constexpr (std::is_same_v<C, int64_t>) {
    return integer_pow(x, y);
  } else {
    return std::pow(x, y);
  }
}

bool is_negative_integer(const Scalar& number) { return !number.is_double() && number.to<int64_t>() < 0; }

}  // namespace

void pow_tensor_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  elementwise<kinds::kAll>(context, {a, b}, out, result_type(a, b),
                           [](auto) { return [](auto x, auto y) { return power(x, y); }; });
}

void pow_scalar_out(KernelRuntimeContext& context, const Scalar& a, const Tensor& b, Tensor& out) {
  const ScalarType common = result_type(b, a);
  elementwise<kinds::kAll>(context, {b}, out, common, [&](auto c) {
    using C = decltype(c);
    return [x = number_in<C>(a, common)](C y) { return power(x, y); };
  });
}

void pow_tensor_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out) {
  const ScalarType common = result_type(a, b);
  const double exponent = b.to<double>();
  RL_KERNEL_REQUIRE(context, !is_negative_integer(b) || compute_type(common) != ScalarType::Long, InvalidArgument,
                    "integers cannot be raised to the negative integer power %lld",
                    static_cast<long long>(b.to<int64_t>()));
  if (exponent == 2) {
    return elementwise<kinds::kAll>(context, {a}, out, common, [](auto) {
      return [](auto x) {
        if constexpr (std::is_same_v<decltype(x), int64_t>) {
          return wrap_mul(x, x);
        } else {
          return x * x;
        }
      };
    });
  }
  // sqrt(-0) is -0 and sqrt(-infinity) is NaN, while std::pow gives other results. Eager PyTorch uses square roots in
  // all dtypes except float16.
  if (exponent == 0.5 && common != ScalarType::Half) return sqrt_out(context, a, out);
  if (exponent == -0.5 && common != ScalarType::Half) return rsqrt_out(context, a, out);
  elementwise<kinds::kAll>(context, {a}, out, common, [&](auto c) {
    using C = decltype(c);
    return [y = number_in<C>(b, compute_type(common))](C x) { return power(x, y); };
  });
}

}  // namespace rushlight::portable
