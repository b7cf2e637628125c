#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void relu_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  elementwise<kinds::kReal>(context, {in}, out, in.scalar_type(),
                            [](auto) { return [](auto x) { return x < 0 ? decltype(x)(0) : x; }; });
}

}  // namespace rushlight::portable
