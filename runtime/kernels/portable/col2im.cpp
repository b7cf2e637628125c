#include "kernels/portable/nn.h"
#include "kernels/shared/accumulator.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/columns.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/element.h"
#include "kernels/shared/fill.h"

namespace rushlight::portable {
namespace {

template <typename T>
void add_line(void* image, const void* matrix, const ColumnLine& line) {
  T* sum = static_cast<T*>(image) + line.pixel;
  const T* x = static_cast<const T*>(matrix) + line.first + line.begin * line.step;
  for (int64_t i = line.begin; i < line.end; ++i, sum += line.pixel_step, x += line.step) {
    *sum = add_elements(*sum, element(x));
  }
}

}  // namespace

void col2im_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                Span<const int64_t> kernel, Span<const int64_t> dilation, Span<const int64_t> padding,
                Span<const int64_t> stride, Tensor& out) {
  RL_KERNEL_REQUIRE(context, (in.dim() == 2 || in.dim() == 3) && output_size.size() == 2, InvalidArgument,
                    "col2im needs a tensor of rank 2 or 3, not %lld, and two output sizes",
                    static_cast<long long>(in.dim()));
  Columns columns;
  if (!read_columns(context, output_size[0], output_size[1], kernel, dilation, padding, stride, &columns)) return;
  const int64_t rows = in.size(in.dim() - 2), volume = columns.window.taps();
  RL_KERNEL_REQUIRE(context, rows % volume == 0 && in.size(in.dim() - 1) == columns.positions(), InvalidArgument,
                    "columns of shape %lld x %lld do not match the output size and the kernel",
                    static_cast<long long>(rows), static_cast<long long>(in.size(in.dim() - 1)));
  Shape shape;
  if (in.dim() == 3) shape.push(in.size(0));
  shape.push(rows / volume);
  shape.push(output_size[0]);
  shape.push(output_size[1]);
  if (!require_same_dtype(context, in, out) || !resize_out(context, out, shape.span())) return;
  fill_tensor(context, out, 0);
  const ImageLayout image(out, 2);
  // Only the innermost loop has a copy for each dtype.
  void (*add)(void*, const void*, const ColumnLine&) = nullptr;
  static constexpr DtypeSet kTypes = dtypes::kAll;
  switch_dtype<kTypes>(context, in.scalar_type(), [&](auto tag) { add = &add_line<typename decltype(tag)::type>; });
  for_each_column_line(columns, image, in, [&](const ColumnLine& line) {
    if (line.begin < line.end) add(out.mutable_data_ptr(), in.const_data_ptr(), line);
  });
}

}  // namespace rushlight::portable
