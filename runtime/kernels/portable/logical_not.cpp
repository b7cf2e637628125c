#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void logical_not_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  elementwise<kinds::kAll>(context, {in}, out, in.scalar_type(),
                           [](auto) { return [](auto x) { return x == decltype(x)(0); }; });
}

}  // namespace rushlight::portable
