#pragma once

#include "kernels/shared/matrix_batch.h"

namespace rushlight {

// Solves A x = B or, without `left`, x A = B, over batches that are broadcast. Resizes `out`, sets `batch` to the
// common batch, and calls body(position in the batch, right-hand sides, their number). `body` replaces the n rows of
// right-hand sides by the solution. Without `left`, they are right-hand sides of A^T.
template <typename Body>
void for_each_system(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, bool vectors, bool left,
                     const Tensor& out, Shape& batch, const Body& body) {
  const MatrixBatch matrices(a), sides(b, vectors);
  const int64_t n = matrices.rows(), rows = sides.rows(), columns = sides.columns();
  RL_KERNEL_REQUIRE(context, (left ? rows : columns) == n, InvalidArgument,
                    "a system of %lld equations does not match right-hand sides of %lld x %lld",
                    static_cast<long long>(n), static_cast<long long>(rows), static_cast<long long>(columns));
  batch = Shape(matrices.batch());
  if (!require_dtype(context, b, a.scalar_type()) || !require_dtype(context, out, a.scalar_type()) ||
      !broadcast_shape(context, batch, sides.batch())) {
    return;
  }
  const Shape shape = vectors ? batch_of(batch.span(), {rows}) : batch_of(batch.span(), {rows, columns});
  if (!resize_out(context, out, shape.span())) return;
  double* side = context.allocate_temporary_array<double>(static_cast<size_t>(2 * rows * columns));
  if (!side) return;
  double* other = side + rows * columns;
  const MatrixBatch results(out, vectors);
  for (int64_t i = 0; i < count_of(batch.span()); ++i) {
    sides.read(batch.span(), i, left ? side : other);
    if (!left) transpose_matrix(other, rows, columns, side);
    body(i, side, left ? columns : rows);
    if (context.failed()) return;
    if (!left) transpose_matrix(side, columns, rows, other);
    results.write(batch.span(), i, left ? side : other);
  }
}

}  // namespace rushlight
