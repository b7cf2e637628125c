#include "kernels/portable/linalg.h"
#include "kernels/shared/lu_batch.h"

namespace rushlight::portable {

void linalg_cholesky_ex_l(KernelRuntimeContext& context, const Tensor& in, bool upper, bool check_errors, Tensor& l,
                          Tensor& info) {
  (void)check_errors;
  if (!require_matrices(context, in, true) || !require_dtype(context, l, in.scalar_type())) return;
  const MatrixBatch matrices(in);
  const Span<const SizesType> batch = matrices.batch();
  const int64_t n = matrices.rows();
  if (!resize_out(context, l, in.sizes()) || !clear_info(context, info, batch)) return;
  double* a = context.allocate_temporary_array<double>(static_cast<size_t>(2 * n * n));
  if (!a) return;
  double* other = a + n * n;
  const MatrixBatch results(l);
  for (int64_t i = 0; i < count_of(batch); ++i) {
    matrices.read(batch, i, upper ? other : a);
    if (upper) transpose_matrix(other, n, n, a);
    const int64_t minor = factor_cholesky(a, n);
    RL_KERNEL_REQUIRE(context, minor == 0, InvalidArgument,
                      "matrix %lld of the batch is not positive definite: its leading minor of order %lld is not "
                      "positive",
                      static_cast<long long>(i), static_cast<long long>(minor));
    if (upper) transpose_matrix(a, n, n, other);
    results.write(batch, i, upper ? other : a);
  }
}

}  // namespace rushlight::portable
