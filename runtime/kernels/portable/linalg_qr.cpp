#include "kernels/portable/linalg.h"
#include "kernels/shared/linear_algebra.h"
#include "kernels/shared/matrix_batch.h"

namespace rushlight::portable {

void linalg_qr_out(KernelRuntimeContext& context, const Tensor& in, std::string_view mode, Tensor& q, Tensor& r) {
  if (!require_matrices(context, in, false) || !require_dtype(context, q, in.scalar_type()) ||
      !require_dtype(context, r, in.scalar_type())) {
    return;
  }
  const bool complete = mode == "complete", only_r = mode == "r";
  RL_KERNEL_REQUIRE(context, complete || only_r || mode == "reduced", InvalidArgument,
                    "mode '%.*s' is not 'reduced', 'complete' or 'r'", static_cast<int>(mode.size()), mode.data());
  const MatrixBatch matrices(in);
  const Span<const SizesType> batch = matrices.batch();
  const int64_t rows = matrices.rows(), columns = matrices.columns(), n = rows < columns ? rows : columns;
  const int64_t kept = complete ? rows : n;
  if (!resize_out(context, q, (only_r ? batch_of({}, {0}) : batch_of(batch, {rows, kept})).span()) ||
      !resize_out(context, r, batch_of(batch, {kept, columns}).span())) {
    return;
  }
  double* a = context.allocate_temporary_array<double>(static_cast<size_t>(rows * (2 * columns + rows) + n));
  if (!a) return;
  double *part = a + rows * columns, *factors = part + rows * (columns + rows);
  for (int64_t i = 0; i < count_of(batch); ++i) {
    matrices.read(batch, i, a);
    factor_qr(a, rows, columns, factors);
    for (int64_t row = 0; row < kept; ++row) {
      for (int64_t c = 0; c < columns; ++c) part[row * columns + c] = c < row ? 0 : a[row * columns + c];
    }
    MatrixBatch(r).write(batch, i, part);
    if (only_r) continue;
    form_q(a, rows, columns, factors, n, part, kept);
    MatrixBatch(q).write(batch, i, part);
  }
}

}  // namespace rushlight::portable
