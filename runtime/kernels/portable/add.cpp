#include <type_traits>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"
#include "kernels/shared/integer.h"

namespace rushlight::portable {

namespace {

// x + alpha * y
template <typename C>
struct Sum {
  C alpha;
  C operator()(C x, C y) const {
    if constexpr (std::is_same_v<C, int64_t>) {
      return wrap_add(x, wrap_mul(alpha, y));
    } else {
      return x + alpha * y;
    }
  }
};

// x + y
struct PlainSum {
  template <typename C>
  C operator()(C x, C y) const {
    if constexpr (std::is_same_v<C, int64_t>) {
      return wrap_add(x, y);
    } else {
      return x + y;
    }
  }
};

bool is_one(const Scalar& alpha) { return alpha.to<double>() == 1; }

}  // namespace

void add_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, const Scalar& alpha, Tensor& out) {
  const ScalarType common = result_type(a, b);
  if (is_one(alpha)) {
    elementwise<kinds::kAll>(context, {a, b}, out, common, [](auto) { return PlainSum(); }, true);
  } else {
    elementwise<kinds::kAll>(
        context, {a, b}, out, common,
        [&](auto c) { return Sum<decltype(c)>{number_in<decltype(c)>(alpha, compute_type(common))}; }, true);
  }
}

void add_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, const Scalar& alpha, Tensor& out) {
  const ScalarType common = result_type(a, b);
  elementwise<kinds::kAll>(context, {a}, out, common, [&](auto c) {
    using C = decltype(c);
    const Sum<C> sum{number_in<C>(alpha, compute_type(common))};
    return [sum, y = number_in<C>(b, compute_type(common))](C x) { return sum(x, y); };
  });
}

}  // namespace rushlight::portable
