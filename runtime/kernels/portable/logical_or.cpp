#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void logical_or_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  elementwise<kinds::kAll>(context, {a, b}, out, result_type(a, b), [](auto) {
    return [](auto x, auto y) {
      const bool p = x != decltype(x)(0), q = y != decltype(y)(0);
      return p || q;
    };
  });
}

}  // namespace rushlight::portable
