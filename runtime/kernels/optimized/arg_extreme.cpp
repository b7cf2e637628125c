#include <algorithm>
#include <cmath>

#include "kernels/optimized/integer_type.h"
#include "kernels/optimized/layout.h"
#include "kernels/optimized/reduce_dims.h"
#include "kernels/optimized/reduction.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/shape.h"
#include "microkernels/tables/f32.h"
#include "microkernels/workers.h"

namespace rushlight::optimized {

namespace {

// Returns the first index of the largest (or smallest) number of a row, or of the first NaN.
int64_t index_of_extreme(const microkernels::F32Microkernels& kernels, bool largest, const float* x, int64_t n) {
  const float value = kernels.extreme(largest, x, n);
  constexpr int64_t kBlock = 64;
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t m = std::min(kBlock, n - first);
    int32_t any = 0;
    for (int64_t i = 0; i < m; ++i) any |= (x[first + i] == value) | (x[first + i] != x[first + i]);
    if (!any) continue;
    for (int64_t i = first;; ++i) {
      if (x[i] == value || x[i] != x[i]) return i;
    }
  }
  return 0;
}

// Supports reductions over the innermost dims.
bool arg_extreme(KernelRuntimeContext& context, bool largest, const Tensor& in, std::optional<int64_t> dim,
                 bool keepdim, const Tensor& out) {
  DimMask mask;
  ReductionShape f;
  IntegerRange range;
  const bool half = dtypes::kHalf.contains(in.scalar_type()), is_integer = integer_type_of(in.scalar_type(), &range);
  if ((!half && !is_integer && !is_float(in)) || out.scalar_type() != ScalarType::Long) return false;
  if (!(dim ? dim_mask(context, in, *dim, &mask) : dim_mask(context, in, std::nullopt, &mask))) return true;
  if (!reduction_shape(in, mask, &f) || f.inner != 1) return false;
  if (!resize_out(context, out, reduced_shape(in, mask, keepdim).span())) return true;
  if (!is_row_major(out)) return false;
  const int64_t workers = in.numel() < kReductionGrain ? 1 : microkernels::worker_count(context);
  float* const rows =
      half ? context.allocate_temporary_array<float>(static_cast<size_t>(workers * f.reduced)) : nullptr;
  if (context.failed()) return true;
  const Convert load = load_function(in.scalar_type(), ScalarType::Float);
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  const microkernels::IntegerMicrokernels& integers = microkernels::integer_microkernels();
  int64_t* const to = out.mutable_data_ptr<int64_t>();
  microkernels::for_workers(context, workers, f.outer, [&](int64_t worker, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const void* const row = at(in, i * f.reduced);
      if (is_integer) {
        to[i] = integers.find(range.type, row, f.reduced, integers.extreme(range.type, largest, row, f.reduced));
        continue;
      }
      const float* values = static_cast<const float*>(row);
      if (half) {
        float* const wide = rows + worker * f.reduced;
        load(row, 1, wide, 1, f.reduced);
        values = wide;
      }
      to[i] = index_of_extreme(kernels, largest, values, f.reduced);
    }
  });
  return true;
}

}  // namespace

bool argmax_out(KernelRuntimeContext& context, const Tensor& in, std::optional<int64_t> dim, bool keepdim,
                Tensor& out) {
  return arg_extreme(context, true, in, dim, keepdim, out);
}

bool argmin_out(KernelRuntimeContext& context, const Tensor& in, std::optional<int64_t> dim, bool keepdim,
                Tensor& out) {
  return arg_extreme(context, false, in, dim, keepdim, out);
}

}  // namespace rushlight::optimized
