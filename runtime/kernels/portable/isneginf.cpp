#include <limits>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void isneginf_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  elementwise<kinds::kReal>(context, {in}, out, in.scalar_type(), [](auto) {
    return [](auto x) {
      using C = decltype(x);
      return std::numeric_limits<C>::has_infinity && x == -std::numeric_limits<C>::infinity();
    };
  });
}

}  // namespace rushlight::portable
