#include <cmath>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void frac_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  elementwise<kinds::kFloating>(context, {in}, out, in.scalar_type(),
                                [](auto) { return [](auto x) { return x - std::trunc(x); }; });
}

}  // namespace rushlight::portable
