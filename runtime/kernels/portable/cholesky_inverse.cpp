#include "kernels/portable/linalg.h"
#include "kernels/shared/linear_algebra.h"
#include "kernels/shared/matrix_batch.h"

namespace rushlight::portable {

void cholesky_inverse_out(KernelRuntimeContext& context, const Tensor& factor, bool upper, Tensor& out) {
  if (!require_matrices(context, factor, true) || !require_dtype(context, out, factor.scalar_type())) return;
  const MatrixBatch matrices(factor);
  const int64_t n = matrices.rows();
  if (!resize_out(context, out, factor.sizes())) return;
  double* given = context.allocate_temporary_array<double>(static_cast<size_t>(3 * n * n));
  if (!given) return;
  double *transposed = given + n * n, *inverse = transposed + n * n;
  const MatrixBatch results(out);
  for (int64_t i = 0; i < count_of(matrices.batch()); ++i) {
    matrices.read(matrices.batch(), i, given);
    transpose_matrix(given, n, n, transposed);
    for (int64_t k = 0; k < n * n; ++k) inverse[k] = k % (n + 1) == 0 ? 1 : 0;
    solve_triangle(upper ? transposed : given, n, false, false, inverse, n);
    solve_triangle(upper ? given : transposed, n, true, false, inverse, n);
    results.write(matrices.batch(), i, inverse);
  }
}

}  // namespace rushlight::portable
