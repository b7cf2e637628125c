#include "kernels/optimized/matrices.h"
#include "kernels/optimized/nn.h"
#include "kernels/shared/shape.h"

namespace rushlight::optimized {

bool mm_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  if (!are_matrices(a, b, out) || a.dim() != 2 || b.dim() != 2 || a.size(1) != b.size(0)) return false;
  if (!resize_out(context, out, {a.size(0), b.size(1)})) return true;
  MatmulProblem problem;
  problem.rows = a.size(0);
  problem.columns = b.size(1);
  problem.depth = a.size(1);
  problem.a = matrix_of(a);
  problem.b = matrix_of(b);
  problem.out = matrix_of(out);
  return multiply_matrices(context, a.scalar_type(), problem);
}

}  // namespace rushlight::optimized
