#include <type_traits>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"
#include "kernels/shared/integer.h"

namespace rushlight::portable {

void addcmul_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& a, const Tensor& b, const Scalar& value,
                 Tensor& out) {
  const ScalarType common = result_type(in, a, b);
  elementwise<kinds::kAll>(context, {in, a, b}, out, common, [&](auto c) {
    using C = decltype(c);
    return [value = number_in<C>(value, compute_type(common))](C x, C y, C z) {
      if constexpr (std::is_same_v<C, int64_t>) {
        return wrap_add(x, wrap_mul(value, wrap_mul(y, z)));
      } else {
        return x + value * y * z;
      }
    };
  });
}

}  // namespace rushlight::portable
