#include <type_traits>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"
#include "kernels/shared/integer.h"

namespace rushlight::portable {

namespace {

// Computes y - alpha * x.
template <typename C>
struct Difference {
  C alpha;
  C operator()(C x, C y) const {
    if constexpr (std::is_same_v<C, int64_t>) {
      return wrap_sub(y, wrap_mul(alpha, x));
    } else {
      return y - alpha * x;
    }
  }
};

}  // namespace

void rsub_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, const Scalar& alpha,
                     Tensor& out) {
  const ScalarType common = result_type(a, b);
  elementwise<kinds::kAll>(
      context, {a, b}, out, common,
      [&](auto c) { return Difference<decltype(c)>{number_in<decltype(c)>(alpha, compute_type(common))}; }, true);
}

void rsub_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, const Scalar& alpha,
                     Tensor& out) {
  const ScalarType common = result_type(a, b);
  elementwise<kinds::kAll>(context, {a}, out, common, [&](auto c) {
    using C = decltype(c);
    const Difference<C> difference{number_in<C>(alpha, compute_type(common))};
    return [difference, y = number_in<C>(b, compute_type(common))](C x) { return difference(x, y); };
  });
}

}  // namespace rushlight::portable
