#include "kernels/portable/elementwise.h"
#include "kernels/shared/clamp.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void hardtanh_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& min, const Scalar& max, Tensor& out) {
  elementwise<kinds::kReal>(context, {in}, out, in.scalar_type(), [&](auto c) {
    using C = decltype(c);
    const ScalarType type = in.scalar_type();
    return [low = number_in<C>(min, type), high = number_in<C>(max, type)](C x) { return limited(x, low, high); };
  });
}

}  // namespace rushlight::portable
