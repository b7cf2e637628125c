#include "kernels/optimized/reduce_dims.h"
#include "kernels/optimized/reduction.h"

namespace rushlight::optimized {

bool amin_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, bool keepdim, Tensor& out) {
  DimMask mask;
  return !dim_mask(context, in, dims, &mask) || reduce_dims(context, Reduction::Smallest, in, mask, keepdim, out);
}

}  // namespace rushlight::optimized
