#include "kernels/optimized/reduce_dims.h"
#include "kernels/optimized/reduction.h"

namespace rushlight::optimized {

bool sum_int_list_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
                      bool keepdim, std::optional<ScalarType> dtype, Tensor& out) {
  DimMask mask;
  if (dtype && *dtype != out.scalar_type()) return false;
  return !dim_mask(context, in, dims, &mask) || reduce_dims(context, Reduction::Sum, in, mask, keepdim, out);
}

}  // namespace rushlight::optimized
