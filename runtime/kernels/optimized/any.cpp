#include "kernels/optimized/reduce_dims.h"
#include "kernels/optimized/reduction.h"

namespace rushlight::optimized {

namespace {

// Supports bool tensors: a true element is the largest one.
bool any_over(KernelRuntimeContext& context, const Tensor& in, DimMask mask, bool keepdim, const Tensor& out) {
  return in.scalar_type() == ScalarType::Bool && reduce_dims(context, Reduction::Largest, in, mask, keepdim, out);
}

}  // namespace

bool any_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool keepdim, Tensor& out) {
  DimMask mask;
  return !dim_mask(context, in, dim, &mask) || any_over(context, in, mask, keepdim, out);
}

bool any_dims_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
                  bool keepdim, Tensor& out) {
  DimMask mask;
  return !dim_mask(context, in, dims, &mask, false) || any_over(context, in, mask, keepdim, out);
}

bool any_all_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  DimMask mask;
  return !dim_mask(context, in, std::nullopt, &mask) || any_over(context, in, mask, false, out);
}

}  // namespace rushlight::optimized
