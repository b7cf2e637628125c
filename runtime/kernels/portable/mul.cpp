#include <type_traits>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"
#include "kernels/shared/integer.h"

namespace rushlight::portable {

namespace {

struct Product {
  template <typename C>
  C operator()(C x, C y) const {
    if constexpr (std::is_same_v<C, int64_t>) {
      return wrap_mul(x, y);
    } else {
      return x * y;
    }
  }
};

}  // namespace

void mul_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  elementwise<kinds::kAll>(context, {a, b}, out, result_type(a, b), [](auto) { return Product(); }, true);
}

void mul_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out) {
  const ScalarType common = result_type(a, b);
  elementwise<kinds::kAll>(context, {a}, out, common, [&](auto c) {
    using C = decltype(c);
    return [y = number_in<C>(b, compute_type(common))](C x) { return Product()(x, y); };
  });
}

}  // namespace rushlight::portable
