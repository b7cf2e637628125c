#include "kernels/optimized/layout.h"
#include "kernels/optimized/matrices.h"
#include "kernels/optimized/nn.h"
#include "kernels/shared/shape.h"

namespace rushlight::optimized {

bool linear_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight,
                const std::optional<Tensor>& bias, Tensor& out) {
  const int64_t rank = in.dim();
  if (!are_matrices(in, weight, out) || !is_row_major(in) || !is_row_major(out) ||
      (bias && bias->scalar_type() != in.scalar_type()) || rank < 1 || weight.dim() != 2 ||
      weight.size(1) != in.size(rank - 1) || weight.stride(1) != 1) {
    return false;
  }
  MatmulProblem problem;
  problem.depth = weight.size(1);
  problem.columns = weight.size(0);
  problem.rows = 1;
  for (int64_t i = 0; i + 1 < rank; ++i) problem.rows *= in.size(i);
  Shape shape(in.sizes());
  shape.set(rank - 1, problem.columns);
  const int64_t sizes[] = {problem.rows, problem.columns};
  if (bias && !broadcast_matrix(context, *bias, sizes, &problem.bias)) return true;
  if (!resize_out(context, out, shape.span())) return true;
  problem.a = {in.mutable_data_ptr(), 0, problem.depth, 1};
  problem.b = {weight.mutable_data_ptr(), 0, 1, weight.stride(0)};
  problem.out = {out.mutable_data_ptr(), 0, problem.columns, 1};
  return multiply_matrices(context, in.scalar_type(), problem);
}

}  // namespace rushlight::optimized
