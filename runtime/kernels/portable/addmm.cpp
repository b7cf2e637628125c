#include "kernels/portable/nn.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/matmul.h"

namespace rushlight::portable {

void addmm_out(KernelRuntimeContext& context, const Tensor& summand, const Tensor& a, const Tensor& b,
               const Scalar& beta, const Scalar& alpha, Tensor& out) {
  RL_KERNEL_REQUIRE(context, a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0), InvalidArgument,
                    "addmm needs matrices of shapes n x m and m x p");
  if (!require_same_dtype(context, a, b) || !require_same_dtype(context, a, out) ||
      !require_same_dtype(context, a, summand)) {
    return;
  }
  MatmulProblem problem;
  problem.rows = a.size(0);
  problem.columns = b.size(1);
  problem.depth = a.size(1);
  const int64_t sizes[] = {problem.rows, problem.columns};
  if (!broadcast_matrix(context, summand, sizes, &problem.bias)) return;
  if (!resize_out(context, out, {problem.rows, problem.columns})) return;
  problem.a = matrix_of(a);
  problem.b = matrix_of(b);
  problem.out = matrix_of(out);
  problem.alpha = alpha;
  problem.beta = beta;
  matmul(context, a.scalar_type(), problem);
}

}  // namespace rushlight::portable
