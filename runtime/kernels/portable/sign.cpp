#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void sign_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  elementwise<kinds::kReal>(context, {in}, out, in.scalar_type(),
                            [](auto) { return [](auto x) { return decltype(x)((x > 0) - (x < 0)); }; });
}

}  // namespace rushlight::portable
