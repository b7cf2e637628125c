#include <cmath>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void nextafter_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  elementwise<kinds::kFloating>(context, {a, b}, out, result_type(a, b),
                                [](auto) { return [](auto x, auto y) { return std::nextafter(x, y); }; });
}

}  // namespace rushlight::portable
