#include <algorithm>
#include <cmath>

#include "kernels/optimized/elementwise_f16.h"
#include "kernels/optimized/f16_rows.h"
#include "kernels/optimized/layout.h"
#include "kernels/optimized/reduce_dims.h"
#include "kernels/optimized/reduction.h"
#include "kernels/shared/accumulate.h"
#include "kernels/shared/convert.h"
#include "microkernels/tables/f32.h"

namespace rushlight::optimized {

namespace {

// Elements of a row that one task reduces.
constexpr int64_t kTerm = 64 * 1024;
// Sums of squares outside of these bounds may contain squares that are not normal in float32. They are computed again.
constexpr double kLeast = 1e-24, kMost = 1e36;

// Returns the sum of the squares of elements [first, first + n) of a tensor.
double squares(const Tensor& in, int64_t first, int64_t n) {
  const bool is_half = is_f16(in);
  const void* const x = at(in, first);
  const double sum = is_half ? f16_squared_deviations(f16_type(in.scalar_type()), static_cast<const uint16_t*>(x), n, 0)
                             : microkernels::f32_microkernels().squared_deviations(static_cast<const float*>(x), n, 0);
  if (sum >= kLeast && sum <= kMost) return sum;
  const Convert load = load_function(in.scalar_type(), ScalarType::Double);
  constexpr int64_t kBlock = 256;
  double exact = 0, block[kBlock];
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    load(at(in, first + i), 1, block, 1, count);
    exact += sum_of(count, [&](int64_t k) { return block[k] * block[k]; });
  }
  return exact;
}

}  // namespace

// Supports Euclidean norms of contiguous rows of float32, float16 and bfloat16.
bool linalg_vector_norm_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& ord,
                            std::optional<Span<const int64_t>> dims, bool keepdim, std::optional<ScalarType> dtype,
                            Tensor& out) {
  ReductionShape f;
  DimMask mask;
  if (ord.to<double>() != 2 || !(is_float(in) || is_f16(in)) || out.scalar_type() != in.scalar_type() ||
      (dtype && *dtype != in.scalar_type())) {
    return false;
  }
  if (!dim_mask(context, in, dims, &mask)) return true;
  if (!reduction_shape(in, mask, &f) || f.inner != 1) return false;
  if (!resize_out(context, out, reduced_shape(in, mask, keepdim).span())) return true;
  if (!is_row_major(out)) return false;
  const int64_t parts = (f.reduced + kTerm - 1) / kTerm, count = f.outer * parts;
  double* const sums = context.allocate_temporary_array<double>(static_cast<size_t>(count));
  if (sums == nullptr) return true;
  context.parallel_for(0, count, std::max<int64_t>(1, kReductionGrain / f.reduced), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % parts * kTerm;
      sums[i] = squares(in, i / parts * f.reduced + first, std::min(kTerm, f.reduced - first));
    }
  });
  const Convert store = store_function(ScalarType::Float, out.scalar_type());
  for (int64_t i = 0; i < f.outer; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < parts; ++j) sum += sums[i * parts + j];
    const float norm = static_cast<float>(std::sqrt(sum));
    store(&norm, 1, at(out, i), 1, 1);
  }
  return true;
}

}  // namespace rushlight::optimized
