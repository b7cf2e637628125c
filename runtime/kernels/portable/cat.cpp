#include "core/move_bytes.h"
#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/convert_copy.h"
#include "kernels/shared/promotion.h"
#include "kernels/shared/view.h"

namespace rushlight::portable {
namespace {

// A tensor of shape [0] may be concatenated with tensors of any shape.
bool is_empty_placeholder(const Tensor& tensor) { return tensor.dim() == 1 && tensor.size(0) == 0; }

// Concatenates row-major tensors of out's dtype, and writes out's rows in memory order. Returns false if a tensor has
// another layout or dtype, or if its rows are short.
bool concatenate_rows(KernelRuntimeContext& context, Span<const Tensor> tensors, int64_t axis, const Tensor& out) {
  constexpr int64_t kMinBytes = 64, kBytesPerTask = 1 << 16;
  if (!is_row_major(out)) return false;
  int64_t rows = 1;
  for (int64_t i = 0; i < axis; ++i) rows *= out.size(i);
  if (rows < 2) return false;
  const auto bytes_of = [&](const Tensor& tensor) { return static_cast<int64_t>(tensor.nbytes()) / rows; };
  for (const Tensor& tensor : tensors) {
    if (tensor.numel() == 0) continue;
    if (tensor.scalar_type() != out.scalar_type() || !is_row_major(tensor) || bytes_of(tensor) < kMinBytes)
      return false;
  }
  const int64_t length = bytes_of(out);
  context.parallel_for(0, rows, kBytesPerTask / length + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      uint8_t* to = out.mutable_data_ptr<uint8_t>() + row * length;
      for (const Tensor& tensor : tensors) {
        if (tensor.numel() == 0) continue;
        const int64_t bytes = bytes_of(tensor);
        move_bytes(to, tensor.const_data_ptr<uint8_t>() + row * bytes, static_cast<size_t>(bytes));
        to += bytes;
      }
    }
  });
  return true;
}

}  // namespace

void cat_out(KernelRuntimeContext& context, Span<const Tensor> tensors, int64_t dim, Tensor& out) {
  RL_KERNEL_REQUIRE(context, !tensors.empty(), InvalidArgument, "cat needs at least one tensor");
  const Tensor* first = &tensors[0];
  ResultType type;
  for (const Tensor& tensor : tensors) {
    type.with(tensor);
    if (is_empty_placeholder(*first)) first = &tensor;
  }
  RL_KERNEL_REQUIRE(context, first->dim() > 0, InvalidArgument, "zero-dim tensors cannot be concatenated");
  int64_t axis;
  if (!normalize_dim(context, dim, first->dim(), &axis) || !require_cast(context, type.get(), out)) return;
  int64_t length = 0;
  for (const Tensor& tensor : tensors) {
    if (is_empty_placeholder(tensor)) continue;
    bool fits = tensor.dim() == first->dim();
    for (int64_t i = 0; fits && i < tensor.dim(); ++i) fits = i == axis || tensor.size(i) == first->size(i);
    RL_KERNEL_REQUIRE(context, fits, InvalidArgument, "the concatenated tensors differ in a dim other than %lld",
                      static_cast<long long>(axis));
    length += tensor.size(axis);
  }
  Shape shape(first->sizes());
  shape.set(axis, length);
  if (!resize_out(context, out, shape.span())) return;
  if (out.numel() == 0 || concatenate_rows(context, tensors, axis, out)) return;
  int64_t position = 0;
  for (const Tensor& tensor : tensors) {
    if (is_empty_placeholder(tensor)) continue;
    View part(out, position * out.stride(axis));
    for (int64_t i = 0; i < out.dim(); ++i) part.add(tensor.size(i), out.stride(i));
    convert_copy(context, tensor, part.tensor());
    position += tensor.size(axis);
  }
}

}  // namespace rushlight::portable
