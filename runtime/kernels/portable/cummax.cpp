#include <functional>

#include "kernels/portable/reduction.h"
#include "kernels/shared/scan_extreme.h"

namespace rushlight::portable {

void cummax_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, Tensor& values, Tensor& indices) {
  scan_extreme<std::greater_equal<>>(context, in, dim, values, indices);
}

}  // namespace rushlight::portable
