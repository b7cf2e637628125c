#include <cmath>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void silu_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  elementwise<kinds::kFloating>(context, {in}, out, in.scalar_type(),
                                [](auto) { return [](auto x) { return x / (1 + std::exp(-x)); }; });
}

}  // namespace rushlight::portable
