#include "kernels/portable/linalg.h"
#include "kernels/shared/linear_algebra.h"
#include "kernels/shared/matrix_batch.h"

namespace rushlight::portable {

void linalg_lu_out(KernelRuntimeContext& context, const Tensor& in, bool pivot, Tensor& p, Tensor& l, Tensor& u) {
  if (!require_matrices(context, in, false)) return;
  const MatrixBatch matrices(in);
  const Span<const SizesType> batch = matrices.batch();
  const int64_t rows = matrices.rows(), columns = matrices.columns(), n = rows < columns ? rows : columns;
  const Shape permutation = pivot ? batch_of(batch, {rows, rows}) : batch_of({}, {0});
  for (const Tensor* out : {&p, &l, &u}) {
    if (!require_dtype(context, *out, in.scalar_type())) return;
  }
  if (!resize_out(context, p, permutation.span()) || !resize_out(context, l, batch_of(batch, {rows, n}).span()) ||
      !resize_out(context, u, batch_of(batch, {n, columns}).span())) {
    return;
  }
  double* a = context.allocate_temporary_array<double>(static_cast<size_t>(rows * (2 * columns + rows)));
  int32_t* order = context.allocate_temporary_array<int32_t>(static_cast<size_t>(rows + n));
  if (!a || !order) return;
  double* part = a + rows * columns;
  int32_t* sources = order + n;
  for (int64_t i = 0; i < count_of(batch); ++i) {
    matrices.read(batch, i, a);
    if (pivot) {
      factor_lu(a, rows, columns, order);
    } else {
      factor_lu_in_order(a, rows, columns, order);
    }
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < n; ++c) part[r * n + c] = r == c ? 1 : (c < r ? a[r * columns + c] : 0);
    }
    MatrixBatch(l).write(batch, i, part);
    for (int64_t r = 0; r < n; ++r) {
      for (int64_t c = 0; c < columns; ++c) part[r * columns + c] = c < r ? 0 : a[r * columns + c];
    }
    MatrixBatch(u).write(batch, i, part);
    if (!pivot) continue;
    for (int64_t r = 0; r < rows; ++r) sources[r] = static_cast<int32_t>(r);
    for (int64_t r = 0; r < n; ++r) {
      const int32_t other = order[r] - 1, moved = sources[r];
      sources[r] = sources[other];
      sources[other] = moved;
    }
    for (int64_t k = 0; k < rows * rows; ++k) part[k] = 0;
    for (int64_t r = 0; r < rows; ++r) part[sources[r] * rows + r] = 1;
    MatrixBatch(p).write(batch, i, part);
  }
}

}  // namespace rushlight::portable
