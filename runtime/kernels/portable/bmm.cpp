#include "kernels/portable/nn.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/matmul.h"

namespace rushlight::portable {

void bmm_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  RL_KERNEL_REQUIRE(context, a.dim() == 3 && b.dim() == 3 && a.size(0) == b.size(0) && a.size(2) == b.size(1),
                    InvalidArgument, "bmm needs batches of matrices of shapes b x n x m and b x m x p");
  if (!require_same_dtype(context, a, b) || !require_same_dtype(context, a, out)) return;
  if (!resize_out(context, out, {a.size(0), a.size(1), b.size(2)})) return;
  MatmulProblem problem;
  problem.batches = a.size(0);
  problem.rows = a.size(1);
  problem.columns = b.size(2);
  problem.depth = a.size(2);
  problem.a = matrix_of(a, true);
  problem.b = matrix_of(b, true);
  problem.out = matrix_of(out, true);
  matmul(context, a.scalar_type(), problem);
}

}  // namespace rushlight::portable
