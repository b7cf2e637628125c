#include <complex>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void conj_physical_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  elementwise<kinds::kAll>(context, {in}, out, in.scalar_type(), [](auto) {
    return [](auto x) {
      if constexpr (is_complex_type<decltype(x)>) {
        return std::conj(x);
      } else {
        return x;
      }
    };
  });
}

}  // namespace rushlight::portable
