#include "kernels/shared/scatter.h"

#include "kernels/portable/index.h"

namespace rushlight::portable {

void scatter_src_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                     const Tensor& src, Tensor& out) {
  scatter(context, in, dim, index, src, ScatterReduction::Assign, true, out);
}

void scatter_value_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                       const Scalar& value, Tensor& out) {
  scatter_number(context, in, dim, index, value, ScatterReduction::Assign, out);
}

void scatter_reduce_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                        const Tensor& src, std::string_view reduce, Tensor& out) {
  ScatterReduction reduction;
  if (!scatter_reduction(context, reduce, false, &reduction)) return;
  scatter(context, in, dim, index, src, reduction, true, out);
}

void scatter_value_reduce_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                              const Scalar& value, std::string_view reduce, Tensor& out) {
  ScatterReduction reduction;
  if (!scatter_reduction(context, reduce, false, &reduction)) return;
  scatter_number(context, in, dim, index, value, reduction, out);
}

}  // namespace rushlight::portable
