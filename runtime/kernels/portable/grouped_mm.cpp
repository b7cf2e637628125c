#include "kernels/portable/nn.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/index_reader.h"
#include "kernels/shared/matmul.h"

namespace rushlight::portable {

void grouped_mm_out(KernelRuntimeContext& context, const Tensor& input, const Tensor& weight, const Tensor& ends,
                    Tensor& out) {
  RL_KERNEL_REQUIRE(context, input.dim() == 2 && weight.dim() == 3 && input.size(1) == weight.size(1), InvalidArgument,
                    "grouped_mm needs an input of shape s x k and weights of shape g x k x n");
  RL_KERNEL_REQUIRE(context, ends.dim() == 1 && ends.size(0) == weight.size(0), InvalidArgument,
                    "grouped_mm needs one end offset for each of %lld groups", static_cast<long long>(weight.size(0)));
  if (!require_same_dtype(context, input, weight) || !require_same_dtype(context, input, out)) return;
  if (!require_indices(context, ends, 0, input.size(0) + 1)) return;
  if (!resize_out(context, out, {input.size(0), weight.size(2)})) return;
  const IndexReader reader(ends);
  MatmulProblem problem;
  problem.columns = weight.size(2);
  problem.depth = weight.size(1);
  const MatrixStack rows = matrix_of(input);
  const MatrixStack results = matrix_of(out);
  const MatrixStack matrices = matrix_of(weight, true);
  const auto item = static_cast<int64_t>(input.element_size());
  const auto moved = [item](const MatrixStack& stack, int64_t elements) {
    MatrixStack result = stack;
    result.data = static_cast<uint8_t*>(stack.data) + elements * item;
    return result;
  };
  int64_t start = 0;
  for (int64_t group = 0; group <= weight.size(0); ++group) {
    const bool is_rest = group == weight.size(0);
    const int64_t end = is_rest ? input.size(0) : reader[group * ends.stride(0)];
    if (end <= start) continue;
    problem.rows = end - start;
    if (is_rest) problem.depth = 0;  // these rows belong to no group
    problem.a = moved(rows, start * rows.row);
    problem.b = moved(matrices, is_rest ? 0 : group * matrices.batch);
    problem.out = moved(results, start * results.row);
    matmul(context, input.scalar_type(), problem);
    start = end;
  }
}

}  // namespace rushlight::portable
