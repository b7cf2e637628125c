#include <cmath>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void log_sigmoid_forward_output(KernelRuntimeContext& context, const Tensor& in, Tensor& out, Tensor& buffer) {
  const ScalarType type = in.scalar_type();
  // The buffer, which the backward pass reads, receives exp(-|x|).
  if (buffer.numel() > 0) {
    elementwise<kinds::kFloating>(context, {in}, buffer, type,
                                  [](auto) { return [](auto x) { return std::exp(-std::abs(x)); }; });
  }
  elementwise<kinds::kFloating>(context, {in}, out, type, [](auto) {
    return [](auto x) { return (x < 0 ? x : 0) - std::log1p(std::exp(-std::abs(x))); };
  });
}

}  // namespace rushlight::portable
