#include "kernels/portable/linalg.h"
#include "kernels/shared/lu_batch.h"
#include "kernels/shared/solve_batch.h"

namespace rushlight::portable {

namespace {

// Returns whether each right-hand side is a vector instead of a matrix.
bool are_vectors(const Tensor& a, const Tensor& b) {
  if (b.dim() == 1) return true;
  if (b.dim() != a.dim() - 1) return false;
  for (int64_t axis = 0; axis < b.dim(); ++axis) {
    if (b.size(axis) != a.size(axis)) return false;
  }
  return true;
}

}  // namespace

void linalg_solve_ex_result(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, bool left,
                            bool check_errors, Tensor& out, Tensor& lu, Tensor& pivots, Tensor& info) {
  (void)check_errors;
  if (!require_matrices(context, a, true)) return;
  const bool vectors = are_vectors(a, b);
  RL_KERNEL_REQUIRE(context, vectors ? left : b.dim() >= 2, InvalidArgument,
                    "right-hand sides of rank %lld do not match matrices of rank %lld", static_cast<long long>(b.dim()),
                    static_cast<long long>(a.dim()));
  const MatrixBatch matrices(a);
  const int64_t n = matrices.rows();
  if (!clear_info(context, info, matrices.batch())) return;
  for_each_lu(context, a, true, lu, pivots, [&](int64_t i, const LuFactors& factors) {
    if (factors.zero_pivot != 0) {
      context.fail(Error::InvalidArgument, "matrix %lld of the batch is singular: its pivot %lld is 0",
                   static_cast<long long>(i), static_cast<long long>(factors.zero_pivot));
    }
  });
  double* matrix = context.allocate_temporary_array<double>(static_cast<size_t>(2 * n * n));
  int32_t* order = context.allocate_temporary_array<int32_t>(static_cast<size_t>(n));
  if (context.failed() || !matrix || !order) return;
  Shape batch;
  for_each_system(context, a, b, vectors, left, out, batch, [&](int64_t i, double* side, int64_t k) {
    matrices.read(batch.span(), i, left ? matrix : matrix + n * n);
    if (!left) transpose_matrix(matrix + n * n, n, n, matrix);
    factor_lu(matrix, n, n, order);
    solve_lu(matrix, order, n, side, k);
  });
}

}  // namespace rushlight::portable
