#include <algorithm>

#include "kernels/optimized/layout.h"
#include "kernels/optimized/reduction.h"
#include "kernels/shared/reduce.h"

namespace rushlight::optimized {

// Supports bool tensors that are reduced over the last dim.
bool any_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool keepdim, Tensor& out) {
  DimMask mask;
  if (in.scalar_type() != ScalarType::Bool || out.scalar_type() != ScalarType::Bool) return false;
  if (in.dim() == 0 || in.numel() == 0 || !is_row_major(in)) return false;
  if (!dim_mask(context, in, dim, &mask)) return true;
  if (mask != DimMask(1) << (in.dim() - 1)) return false;
  if (!resize_out(context, out, reduced_shape(in, mask, keepdim).span())) return true;
  if (!is_row_major(out)) return false;
  const int64_t n = in.size(in.dim() - 1);
  const uint8_t* x = in.const_data_ptr<uint8_t>();
  uint8_t* y = out.mutable_data_ptr<uint8_t>();
  context.parallel_for(0, out.numel(), std::max<int64_t>(1, 64 * 1024 / n), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      uint8_t any = 0;
      for (int64_t i = 0; i < n; ++i) any |= x[row * n + i];
      y[row] = any;
    }
  });
  return true;
}

}  // namespace rushlight::optimized
