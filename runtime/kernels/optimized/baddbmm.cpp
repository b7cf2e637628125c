#include "kernels/optimized/matrices.h"
#include "kernels/optimized/nn.h"
#include "kernels/shared/shape.h"

namespace rushlight::optimized {

bool baddbmm_out(KernelRuntimeContext& context, const Tensor& summand, const Tensor& a, const Tensor& b,
                 const Scalar& beta, const Scalar& alpha, Tensor& out) {
  if (!are_matrices(summand, a, b, out) || a.dim() != 3 || b.dim() != 3 || a.size(0) != b.size(0) ||
      a.size(2) != b.size(1)) {
    return false;
  }
  MatmulProblem problem;
  problem.batches = a.size(0);
  problem.rows = a.size(1);
  problem.columns = b.size(2);
  problem.depth = a.size(2);
  const int64_t sizes[] = {problem.batches, problem.rows, problem.columns};
  if (!broadcast_matrix(context, summand, sizes, &problem.bias)) return true;
  if (!resize_out(context, out, {problem.batches, problem.rows, problem.columns})) return true;
  problem.a = matrix_of(a, true);
  problem.b = matrix_of(b, true);
  problem.out = matrix_of(out, true);
  problem.alpha = alpha;
  problem.beta = beta;
  return multiply_matrices(context, a.scalar_type(), problem);
}

}  // namespace rushlight::optimized
