#include <cmath>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void hypot_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  elementwise<kinds::kFloating>(context, {a, b}, out, float_result(result_type(a, b)),
                                [](auto) { return [](auto x, auto y) { return std::hypot(x, y); }; });
}

}  // namespace rushlight::portable
