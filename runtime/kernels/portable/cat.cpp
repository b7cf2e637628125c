#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/convert_copy.h"
#include "kernels/shared/promotion.h"
#include "kernels/shared/view.h"

namespace rushlight::portable {
namespace {

// A tensor of shape [0] joins with anything.
bool is_nothing(const Tensor& tensor) { return tensor.dim() == 1 && tensor.size(0) == 0; }

}  // namespace

void cat_out(KernelRuntimeContext& context, Span<const Tensor> tensors, int64_t dim, Tensor& out) {
  RL_KERNEL_REQUIRE(context, !tensors.empty(), InvalidArgument, "cat needs at least one tensor");
  const Tensor* first = &tensors[0];
  ResultType type;
  for (const Tensor& tensor : tensors) {
    type.with(tensor);
    if (is_nothing(*first)) first = &tensor;
  }
  RL_KERNEL_REQUIRE(context, first->dim() > 0, InvalidArgument, "zero-dim tensors cannot be joined");
  int64_t axis;
  if (!normalize_dim(context, dim, first->dim(), &axis) || !require_cast(context, type.get(), out)) return;
  int64_t length = 0;
  for (const Tensor& tensor : tensors) {
    if (is_nothing(tensor)) continue;
    bool fits = tensor.dim() == first->dim();
    for (int64_t i = 0; fits && i < tensor.dim(); ++i) fits = i == axis || tensor.size(i) == first->size(i);
    RL_KERNEL_REQUIRE(context, fits, InvalidArgument, "tensors to be joined differ in a dim other than %lld",
                      static_cast<long long>(axis));
    length += tensor.size(axis);
  }
  Shape shape(first->sizes());
  shape.set(axis, length);
  if (!resize_out(context, out, shape.span())) return;
  int64_t position = 0;
  for (const Tensor& tensor : tensors) {
    if (is_nothing(tensor)) continue;
    View part(out, position * out.stride(axis));
    for (int64_t i = 0; i < out.dim(); ++i) part.add(tensor.size(i), out.stride(i));
    convert_copy(context, tensor, part.tensor());
    position += tensor.size(axis);
  }
}

}  // namespace rushlight::portable
