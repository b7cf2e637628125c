#include "kernels/optimized/matrices.h"
#include "kernels/optimized/nn.h"
#include "kernels/shared/shape.h"

namespace rushlight::optimized {

bool bmm_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  if (!are_matrices(a, b, out) || a.dim() != 3 || b.dim() != 3 || a.size(0) != b.size(0) || a.size(2) != b.size(1)) {
    return false;
  }
  if (!resize_out(context, out, {a.size(0), a.size(1), b.size(2)})) return true;
  MatmulProblem problem;
  problem.batches = a.size(0);
  problem.rows = a.size(1);
  problem.columns = b.size(2);
  problem.depth = a.size(2);
  problem.a = matrix_of(a, true);
  problem.b = matrix_of(b, true);
  problem.out = matrix_of(out, true);
  return multiply_matrices(context, a.scalar_type(), problem);
}

}  // namespace rushlight::optimized
