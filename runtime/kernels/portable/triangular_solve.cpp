#include "kernels/portable/linalg.h"
#include "kernels/shared/linear_algebra.h"
#include "kernels/shared/solve_batch.h"

namespace rushlight::portable {

void triangular_solve_x(KernelRuntimeContext& context, const Tensor& b, const Tensor& a, bool upper, bool transpose,
                        bool unit, Tensor& x, Tensor& m) {
  if (!require_matrices(context, a, true) || !require_matrices(context, b, false)) return;
  const MatrixBatch matrices(a);
  const int64_t n = matrices.rows();
  double* matrix = context.allocate_temporary_array<double>(static_cast<size_t>(2 * n * n));
  if (!matrix) return;
  Shape batch;
  for_each_system(context, a, b, false, true, x, batch, [&](int64_t i, double* side, int64_t k) {
    matrices.read(batch.span(), i, transpose ? matrix + n * n : matrix);
    if (transpose) transpose_matrix(matrix + n * n, n, n, matrix);
    solve_triangle(matrix, n, upper != transpose, unit, side, k);
  });
  const Shape shape = batch_of(batch.span(), {n, n});
  if (context.failed() || !require_dtype(context, m, a.scalar_type()) || !resize_out(context, m, shape.span())) return;
  const MatrixBatch copies(m);
  for (int64_t i = 0; i < count_of(batch.span()); ++i) {
    matrices.read(batch.span(), i, matrix);
    copies.write(batch.span(), i, matrix);
  }
}

}  // namespace rushlight::portable
