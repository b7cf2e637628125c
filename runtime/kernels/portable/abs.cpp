#include <cmath>
#include <type_traits>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"
#include "kernels/shared/integer.h"

namespace rushlight::portable {

void abs_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  elementwise<kinds::kAll>(context, {in}, out, in.scalar_type(), [](auto) {
    return [](auto x) {
      if constexpr (std::is_same_v<decltype(x), int64_t>) {
        return x < 0 ? wrap_neg(x) : x;
      } else {
        return std::abs(x);
      }
    };
  });
}

}  // namespace rushlight::portable
