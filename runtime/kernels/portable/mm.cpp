#include "kernels/portable/nn.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/matmul.h"

namespace rushlight::portable {

void mm_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  RL_KERNEL_REQUIRE(context, a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0), InvalidArgument,
                    "mm needs matrices of shapes n x m and m x p");
  if (!require_same_dtype(context, a, b) || !require_same_dtype(context, a, out)) return;
  if (!resize_out(context, out, {a.size(0), b.size(1)})) return;
  MatmulProblem problem;
  problem.rows = a.size(0);
  problem.columns = b.size(1);
  problem.depth = a.size(1);
  problem.a = matrix_of(a);
  problem.b = matrix_of(b);
  problem.out = matrix_of(out);
  matmul(context, a.scalar_type(), problem);
}

}  // namespace rushlight::portable
