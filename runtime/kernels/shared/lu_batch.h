#pragma once

#include <cmath>

#include "kernels/shared/linear_algebra.h"
#include "kernels/shared/matrix_batch.h"

namespace rushlight {

// The factors of one matrix of a batch.
struct LuFactors {
  const double* lu;
  const int32_t* pivots;
  int64_t rows, columns, zero_pivot;
  int64_t rank() const { return rows < columns ? rows : columns; }
  double sign() const {
    double sign = 1;
    for (int64_t i = 0; i < rank(); ++i) sign = pivots[i] == i + 1 ? sign : -sign;
    return sign;
  }
};

// Sets `lu` and int32 `pivots` to the factors of each matrix, and calls body(position, LuFactors).
template <typename Body>
void for_each_lu(KernelRuntimeContext& context, const Tensor& in, bool pivot, const Tensor& lu, const Tensor& pivots,
                 const Body& body) {
  const MatrixBatch matrices(in);
  const Span<const SizesType> batch = matrices.batch();
  const int64_t rows = matrices.rows(), columns = matrices.columns(), n = rows < columns ? rows : columns;
  if (!require_dtype(context, lu, in.scalar_type()) || !require_dtype(context, pivots, ScalarType::Int) ||
      !resize_out(context, lu, in.sizes()) || !resize_out(context, pivots, batch_of(batch, {n}).span())) {
    return;
  }
  double* a = context.allocate_temporary_array<double>(static_cast<size_t>(rows * columns));
  if (!a) return;
  const MatrixBatch factored(lu);
  for (int64_t i = 0; i < count_of(batch); ++i) {
    int32_t* order = pivots.mutable_data_ptr<int32_t>() + i * n;
    matrices.read(batch, i, a);
    const int64_t zero = pivot ? factor_lu(a, rows, columns, order) : factor_lu_in_order(a, rows, columns, order);
    factored.write(batch, i, a);
    body(i, LuFactors{a, order, rows, columns, zero});
    if (context.failed()) return;
  }
}

// Sets the int32 error codes of a batch to "no error".
inline bool clear_info(KernelRuntimeContext& context, const Tensor& info, Span<const SizesType> batch) {
  if (!require_dtype(context, info, ScalarType::Int) || !resize_out(context, info, batch)) return false;
  for (int64_t i = 0; i < info.numel(); ++i) info.mutable_data_ptr<int32_t>()[i] = 0;
  return true;
}

}  // namespace rushlight
