#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"
#include "kernels/shared/normal.h"

namespace rushlight::portable {

void special_ndtri_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  elementwise_float(context, in, out, [](auto) {
    return [](auto x) { return static_cast<decltype(x)>(ndtri(static_cast<double>(x))); };
  });
}

}  // namespace rushlight::portable
