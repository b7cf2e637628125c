#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void bitwise_not_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  const int64_t ones = in.scalar_type() == ScalarType::Bool ? 1 : -1;
  elementwise<kinds::kInteger>(context, {in}, out, in.scalar_type(),
                               [&](auto) { return [ones](int64_t x) { return x ^ ones; }; });
}

}  // namespace rushlight::portable
