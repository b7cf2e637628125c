#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void threshold_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& threshold, const Scalar& value,
                   Tensor& out) {
  elementwise<kinds::kReal>(context, {in}, out, in.scalar_type(), [&](auto c) {
    using C = decltype(c);
    const ScalarType type = in.scalar_type();
    return [threshold = number_in<C>(threshold, type), value = number_in<C>(value, type)](C x) {
      return x <= threshold ? value : x;
    };
  });
}

}  // namespace rushlight::portable
