#include "kernels/portable/index.h"
#include "kernels/shared/scatter.h"

namespace rushlight::portable {

void scatter_reduce_two_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                            const Tensor& src, std::string_view reduce, bool include_self, Tensor& out) {
  ScatterReduction reduction;
  if (!scatter_reduction(context, reduce, true, &reduction)) return;
  scatter(context, in, dim, index, src, reduction, include_self, out);
}

}  // namespace rushlight::portable
