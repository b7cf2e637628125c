#include "kernels/optimized/reduce_dims.h"
#include "kernels/optimized/reduction.h"

namespace rushlight::optimized {

bool any_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool keepdim, Tensor& out) {
  DimMask mask;
  return !dim_mask(context, in, dim, &mask) || reduce_conditions(context, true, in, mask, keepdim, out);
}

bool any_dims_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
                  bool keepdim, Tensor& out) {
  DimMask mask;
  return !dim_mask(context, in, dims, &mask, false) || reduce_conditions(context, true, in, mask, keepdim, out);
}

bool any_all_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  DimMask mask;
  return !dim_mask(context, in, std::nullopt, &mask) || reduce_conditions(context, true, in, mask, false, out);
}

}  // namespace rushlight::optimized
