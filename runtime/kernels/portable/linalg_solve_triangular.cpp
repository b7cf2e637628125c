#include "kernels/portable/linalg.h"
#include "kernels/shared/linear_algebra.h"
#include "kernels/shared/solve_batch.h"

namespace rushlight::portable {

void linalg_solve_triangular_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, bool upper, bool left,
                                 bool unit, Tensor& out) {
  if (!require_matrices(context, a, true) || !require_matrices(context, b, false)) return;
  const MatrixBatch matrices(a);
  const int64_t n = matrices.rows();
  double* matrix = context.allocate_temporary_array<double>(static_cast<size_t>(2 * n * n));
  if (!matrix) return;
  Shape batch;
  for_each_system(context, a, b, false, left, out, batch, [&](int64_t i, double* side, int64_t k) {
    matrices.read(batch.span(), i, left ? matrix : matrix + n * n);
    if (!left) transpose_matrix(matrix + n * n, n, n, matrix);
    solve_triangle(matrix, n, upper == left, unit, side, k);
  });
}

}  // namespace rushlight::portable
