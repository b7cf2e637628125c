#include "kernels/portable/nn.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/matmul.h"
#include "kernels/shared/row_major.h"

namespace rushlight::portable {

void linear_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight,
                const std::optional<Tensor>& bias, Tensor& out) {
  const int64_t rank = in.dim();
  const bool vector = weight.dim() == 1;
  RL_KERNEL_REQUIRE(context, rank >= 1 && (vector || weight.dim() == 2), InvalidArgument,
                    "linear needs an input of rank 1 or more and a weight of rank 1 or 2");
  const int64_t depth = in.size(rank - 1);
  RL_KERNEL_REQUIRE(context, weight.size(weight.dim() - 1) == depth, InvalidArgument,
                    "the input has %lld features, but the weight has %lld", static_cast<long long>(depth),
                    static_cast<long long>(weight.size(weight.dim() - 1)));
  if (!require_same_dtype(context, in, weight) || !require_same_dtype(context, in, out)) return;
  if (bias && !require_same_dtype(context, in, *bias)) return;
  Shape shape(in.sizes());
  MatmulProblem problem;
  problem.columns = vector ? 1 : weight.size(0);
  problem.depth = depth;
  problem.rows = 1;
  for (int64_t i = 0; i + 1 < rank; ++i) problem.rows *= in.size(i);
  if (vector) {
    --shape.dim;
  } else {
    shape.set(rank - 1, problem.columns);
  }
  const int64_t sizes[] = {problem.rows, problem.columns};
  if (bias && !broadcast_matrix(context, *bias, sizes, &problem.bias)) return;
  if (!resize_out(context, out, shape.span())) return;
  const RowMajorInput source(context, in);
  RowMajorOutput target(context, out);
  if (context.failed()) return;
  problem.a = {const_cast<void*>(source.data()), 0, depth, 1};
  problem.b = {weight.mutable_data_ptr(), 0, weight.stride(weight.dim() - 1), vector ? 0 : weight.stride(0)};
  problem.out = {target.data(), 0, problem.columns, 1};
  matmul(context, in.scalar_type(), problem);
  target.finish();
}

}  // namespace rushlight::portable
