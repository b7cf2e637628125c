#include "kernels/portable/linalg.h"
#include "kernels/shared/linear_algebra.h"
#include "kernels/shared/solve_batch.h"

namespace rushlight::portable {

void linalg_lu_solve_out(KernelRuntimeContext& context, const Tensor& lu, const Tensor& pivots, const Tensor& b,
                         bool left, bool adjoint, Tensor& out) {
  if (!require_matrices(context, lu, true) || !require_matrices(context, b, false) ||
      !require_dtype(context, pivots, ScalarType::Int)) {
    return;
  }
  const MatrixBatch matrices(lu);
  const int64_t n = matrices.rows();
  RL_KERNEL_REQUIRE(context, pivots.numel() == count_of(matrices.batch()) * n, InvalidArgument,
                    "%lld pivots do not match %lld matrices of %lld rows", static_cast<long long>(pivots.numel()),
                    static_cast<long long>(count_of(matrices.batch())), static_cast<long long>(n));
  const int32_t* order = pivots.const_data_ptr<int32_t>();
  for (int64_t i = 0; i < pivots.numel(); ++i) {
    RL_KERNEL_REQUIRE(context, order[i] > i % n && order[i] <= n, InvalidArgument,
                      "pivot %d of row %lld is out of range", order[i], static_cast<long long>(i % n));
  }
  double* matrix = context.allocate_temporary_array<double>(static_cast<size_t>(n * n));
  if (!matrix) return;
  Shape batch;
  for_each_system(context, lu, b, false, left, out, batch, [&](int64_t i, double* side, int64_t k) {
    matrices.read(batch.span(), i, matrix);
    const int32_t* own = order + matrices.index_of(batch.span(), i) * n;
    if (adjoint == left) {
      solve_lu_transposed(matrix, own, n, side, k);
    } else {
      solve_lu(matrix, own, n, side, k);
    }
  });
}

}  // namespace rushlight::portable
