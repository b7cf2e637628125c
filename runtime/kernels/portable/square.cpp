#include <type_traits>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"
#include "kernels/shared/integer.h"

namespace rushlight::portable {

void square_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  elementwise<kinds::kAll>(context, {in}, out, in.scalar_type(), [](auto) {
    return [](auto x) {
      if constexpr (std::is_same_v<decltype(x), int64_t>) {
        return wrap_mul(x, x);
      } else {
        return x * x;
      }
    };
  });
}

}  // namespace rushlight::portable
