#include <cmath>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void sigmoid_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  elementwise_float<kinds::kFloating | kinds::kComplex>(
      context, in, out, [](auto) { return [](auto x) { return decltype(x)(1) / (decltype(x)(1) + std::exp(-x)); }; });
}

}  // namespace rushlight::portable
