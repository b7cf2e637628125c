#include <cmath>

#include "kernels/portable/linalg.h"
#include "kernels/shared/linear_algebra.h"
#include "kernels/shared/matrix_batch.h"

namespace rushlight::portable {

// The algorithm is scaling and squaring with Taylor's series (Moler and Van Loan, Nineteen Dubious Ways, method 3). For
// a norm below 1/2, the remainder after 18 terms is less than double's precision.
void linalg_matrix_exp_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  constexpr int kTerms = 18;
  if (!require_matrices(context, in, true) || !require_dtype(context, out, in.scalar_type())) return;
  if (!resize_out(context, out, in.sizes())) return;
  const MatrixBatch matrices(in);
  const Span<const SizesType> batch = matrices.batch();
  const int64_t n = matrices.rows(), elements = n * n;
  double* a = context.allocate_temporary_array<double>(static_cast<size_t>(4 * elements));
  if (!a) return;
  double *sum = a + elements, *term = sum + elements, *next = term + elements;
  for (int64_t i = 0; i < count_of(batch); ++i) {
    matrices.read(batch, i, a);
    double norm = 0;
    for (int64_t k = 0; k < elements; ++k) norm += std::fabs(a[k]);
    int squarings = 0;
    if (norm > 0.5 && std::isfinite(norm)) squarings = std::ilogb(norm) + 2;
    for (int64_t k = 0; k < elements; ++k) {
      a[k] = std::ldexp(a[k], -squarings);
      sum[k] = term[k] = k % (n + 1) == 0 ? 1 : 0;
    }
    for (int order = 1; order <= kTerms; ++order) {
      multiply(term, a, n, n, n, next);
      for (int64_t k = 0; k < elements; ++k) {
        term[k] = next[k] / order;
        sum[k] += term[k];
      }
    }
    for (int square = 0; square < squarings; ++square) {
      multiply(sum, sum, n, n, n, next);
      for (int64_t k = 0; k < elements; ++k) sum[k] = next[k];
    }
    MatrixBatch(out).write(batch, i, sum);
  }
}

}  // namespace rushlight::portable
