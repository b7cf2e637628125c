#include "kernels/portable/linalg.h"
#include "kernels/shared/lu_batch.h"

namespace rushlight::portable {

void linalg_inv_ex_inverse(KernelRuntimeContext& context, const Tensor& in, bool check_errors, Tensor& out,
                           Tensor& info) {
  (void)check_errors;
  if (!require_matrices(context, in, true) || !require_dtype(context, out, in.scalar_type())) return;
  const MatrixBatch matrices(in);
  const Span<const SizesType> batch = matrices.batch();
  const int64_t n = matrices.rows();
  if (!resize_out(context, out, in.sizes()) || !clear_info(context, info, batch)) return;
  double* a = context.allocate_temporary_array<double>(static_cast<size_t>(2 * n * n));
  int32_t* pivots = context.allocate_temporary_array<int32_t>(static_cast<size_t>(n));
  if (!a || !pivots) return;
  double* inverse = a + n * n;
  const MatrixBatch results(out);
  for (int64_t i = 0; i < count_of(batch); ++i) {
    matrices.read(batch, i, a);
    const int64_t zero = factor_lu(a, n, n, pivots);
    RL_KERNEL_REQUIRE(context, zero == 0, InvalidArgument, "matrix %lld of the batch is singular: its pivot %lld is 0",
                      static_cast<long long>(i), static_cast<long long>(zero));
    for (int64_t k = 0; k < n * n; ++k) inverse[k] = k % (n + 1) == 0 ? 1 : 0;
    solve_lu(a, pivots, n, inverse, n);
    results.write(batch, i, inverse);
  }
}

}  // namespace rushlight::portable
