#include "kernels/portable/linalg.h"
#include "kernels/shared/linear_algebra.h"
#include "kernels/shared/matrix_batch.h"

namespace rushlight::portable {

void linalg_eigh_eigenvalues(KernelRuntimeContext& context, const Tensor& in, std::string_view triangle, bool vectors,
                             Tensor& values, Tensor& out) {
  if (!require_matrices(context, in, true) || !require_dtype(context, values, in.scalar_type()) ||
      !require_dtype(context, out, in.scalar_type())) {
    return;
  }
  const MatrixBatch matrices(in);
  const Span<const SizesType> batch = matrices.batch();
  const int64_t n = matrices.rows();
  const bool lower = triangle == "L" || triangle == "l";
  if (!resize_out(context, values, batch_of(batch, {n}).span()) ||
      !resize_out(context, out, (vectors ? Shape(in.sizes()) : batch_of({}, {0})).span())) {
    return;
  }
  double* a = context.allocate_temporary_array<double>(static_cast<size_t>(n * (2 * n + 1)));
  if (!a) return;
  double *scratch = a + n * n, *found = scratch + n * n;
  for (int64_t i = 0; i < count_of(batch); ++i) {
    matrices.read(batch, i, a);
    for (int64_t r = 0; r < n; ++r) {
      for (int64_t c = 0; c < r; ++c) {
        double &below = a[r * n + c], &above = a[c * n + r];
        (lower ? above : below) = lower ? below : above;
      }
    }
    factor_symmetric(a, n, found, scratch);
    MatrixBatch(values, true).write(batch, i, found);
    if (vectors) MatrixBatch(out).write(batch, i, a);
  }
}

}  // namespace rushlight::portable
