#include "kernels/portable/linalg.h"
#include "kernels/shared/linear_algebra.h"
#include "kernels/shared/matrix_batch.h"

namespace rushlight::portable {

void linalg_svd_u(KernelRuntimeContext& context, const Tensor& in, bool full, bool vectors,
                  std::optional<std::string_view> driver, Tensor& u, Tensor& s, Tensor& vh) {
  (void)driver;
  if (!require_matrices(context, in, false)) return;
  for (const Tensor* out : {&u, &s, &vh}) {
    if (!require_dtype(context, *out, in.scalar_type())) return;
  }
  const MatrixBatch matrices(in);
  const Span<const SizesType> batch = matrices.batch();
  const int64_t rows = matrices.rows(), columns = matrices.columns();
  // The factors of a wide matrix are the factors of its transpose, exchanged.
  const bool wide = rows < columns;
  const int64_t m = wide ? columns : rows, n = wide ? rows : columns, kept = full ? m : n;
  const Shape none = batch_of({}, {0});
  if (!resize_out(context, s, batch_of(batch, {n}).span()) ||
      !resize_out(context, u, (vectors ? batch_of(batch, {rows, wide ? n : kept}) : none).span()) ||
      !resize_out(context, vh, (vectors ? batch_of(batch, {wide ? kept : n, columns}) : none).span())) {
    return;
  }
  double* a = context.allocate_temporary_array<double>(static_cast<size_t>(m * n + 2 * m * m + n * n + n));
  if (!a) return;
  double *left = a + m * n, *transposed = left + m * m, *right = transposed + m * m, *values = right + n * n;
  for (int64_t i = 0; i < count_of(batch); ++i) {
    matrices.read(batch, i, wide ? left : a);
    if (wide) transpose_matrix(left, rows, columns, a);
    factor_singular(a, m, n, values, right);
    MatrixBatch(s, true).write(batch, i, values);
    if (!vectors) continue;
    for (int64_t r = 0; r < m; ++r) {
      for (int64_t c = 0; c < n; ++c) left[r * kept + c] = a[r * n + c];
    }
    complete_basis(left, m, kept, n);
    transpose_matrix(wide ? left : right, wide ? m : n, wide ? kept : n, transposed);
    MatrixBatch(u).write(batch, i, wide ? right : left);
    MatrixBatch(vh).write(batch, i, transposed);
  }
}

}  // namespace rushlight::portable
