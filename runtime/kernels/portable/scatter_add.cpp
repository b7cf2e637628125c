#include "kernels/portable/index.h"
#include "kernels/shared/scatter.h"

namespace rushlight::portable {

void scatter_add_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                     const Tensor& src, Tensor& out) {
  scatter(context, in, dim, index, src, ScatterReduction::Sum, true, out);
}

}  // namespace rushlight::portable
