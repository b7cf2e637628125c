#include <cmath>
#include <type_traits>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void isnan_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  elementwise<kinds::kAll>(context, {in}, out, in.scalar_type(), [](auto) {
    return [](auto x) {
      if constexpr (std::is_same_v<decltype(x), int64_t>) {
        return false;
      } else if constexpr (is_complex_type<decltype(x)>) {
        return std::isnan(x.real()) || std::isnan(x.imag());
      } else {
        return std::isnan(x);
      }
    };
  });
}

}  // namespace rushlight::portable
