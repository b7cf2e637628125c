#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/convert_copy.h"
#include "kernels/shared/promotion.h"
#include "kernels/shared/view.h"

namespace rushlight::portable {

void stack_out(KernelRuntimeContext& context, Span<const Tensor> tensors, int64_t dim, Tensor& out) {
  RL_KERNEL_REQUIRE(context, !tensors.empty(), InvalidArgument, "stack needs at least one tensor");
  const Tensor& first = tensors[0];
  int64_t axis;
  if (!normalize_dim(context, dim, first.dim() + 1, &axis)) return;
  ResultType type;
  for (const Tensor& tensor : tensors) {
    type.with(tensor);
    RL_KERNEL_REQUIRE(context, same_shape(tensor, first), InvalidArgument, "the stacked tensors have different shapes");
  }
  if (!require_cast(context, type.get(), out)) return;
  Shape shape;
  for (int64_t i = 0; i <= first.dim(); ++i) {
    shape.push(i == axis ? static_cast<int64_t>(tensors.size()) : first.size(i < axis ? i : i - 1));
  }
  if (!resize_out(context, out, shape.span())) return;
  for (size_t k = 0; k < tensors.size(); ++k) {
    View part(out, static_cast<int64_t>(k) * out.stride(axis));
    for (int64_t i = 0; i < out.dim(); ++i) {
      if (i != axis) part.add(out.size(i), out.stride(i));
    }
    convert_copy(context, tensors[k], part.tensor());
  }
}

}  // namespace rushlight::portable
