#include <cmath>
#include <type_traits>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void isinf_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  elementwise<kinds::kAll>(context, {in}, out, in.scalar_type(), [](auto) {
    return [](auto x) {
      if constexpr (std::is_same_v<decltype(x), int64_t>) {
        return false;
      } else if constexpr (is_complex_type<decltype(x)>) {
        return std::isinf(x.real()) || std::isinf(x.imag());
      } else {
        return std::isinf(x);
      }
    };
  });
}

}  // namespace rushlight::portable
