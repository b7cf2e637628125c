#include <cmath>
#include <type_traits>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void signbit_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  elementwise<kinds::kReal>(context, {in}, out, in.scalar_type(), [](auto) {
    return [](auto x) {
      if constexpr (std::is_same_v<decltype(x), int64_t>) {
        return x < 0;
      } else {
        return std::signbit(x);
      }
    };
  });
}

}  // namespace rushlight::portable
