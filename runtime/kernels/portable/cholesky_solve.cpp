#include "kernels/portable/linalg.h"
#include "kernels/shared/linear_algebra.h"
#include "kernels/shared/solve_batch.h"

namespace rushlight::portable {

void cholesky_solve_out(KernelRuntimeContext& context, const Tensor& b, const Tensor& factor, bool upper, Tensor& out) {
  if (!require_matrices(context, factor, true) || !require_matrices(context, b, false)) return;
  const MatrixBatch matrices(factor);
  const int64_t n = matrices.rows();
  double* given = context.allocate_temporary_array<double>(static_cast<size_t>(2 * n * n));
  if (!given) return;
  double* transposed = given + n * n;
  Shape batch;
  for_each_system(context, factor, b, false, true, out, batch, [&](int64_t i, double* side, int64_t k) {
    matrices.read(batch.span(), i, given);
    transpose_matrix(given, n, n, transposed);
    solve_triangle(upper ? transposed : given, n, false, false, side, k);
    solve_triangle(upper ? given : transposed, n, true, false, side, k);
  });
}

}  // namespace rushlight::portable
