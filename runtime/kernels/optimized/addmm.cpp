#include "kernels/optimized/matrices.h"
#include "kernels/optimized/nn.h"
#include "kernels/shared/shape.h"

namespace rushlight::optimized {

bool addmm_out(KernelRuntimeContext& context, const Tensor& summand, const Tensor& a, const Tensor& b,
               const Scalar& beta, const Scalar& alpha, Tensor& out) {
  if (!are_matrices(summand, a, b, out) || a.dim() != 2 || b.dim() != 2 || a.size(1) != b.size(0)) return false;
  MatmulProblem problem;
  problem.rows = a.size(0);
  problem.columns = b.size(1);
  problem.depth = a.size(1);
  const int64_t sizes[] = {problem.rows, problem.columns};
  if (!broadcast_matrix(context, summand, sizes, &problem.bias)) return true;
  if (!resize_out(context, out, {problem.rows, problem.columns})) return true;
  problem.a = matrix_of(a);
  problem.b = matrix_of(b);
  problem.out = matrix_of(out);
  problem.alpha = alpha;
  problem.beta = beta;
  return multiply_matrices(context, a.scalar_type(), problem);
}

}  // namespace rushlight::optimized
