#include "kernels/portable/nn.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/columns.h"
#include "kernels/shared/dtype_switch.h"

namespace rushlight::portable {

void im2col_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> kernel,
                Span<const int64_t> dilation, Span<const int64_t> padding, Span<const int64_t> stride, Tensor& out) {
  RL_KERNEL_REQUIRE(context, in.dim() == 3 || in.dim() == 4, InvalidArgument,
                    "im2col needs a tensor of rank 3 or 4, not %lld", static_cast<long long>(in.dim()));
  const ImageLayout image(in, 2);
  Columns columns;
  if (!read_columns(context, image.size[1], image.size[2], kernel, dilation, padding, stride, &columns)) return;
  Shape shape;
  if (in.dim() == 4) shape.push(image.batch);
  shape.push(image.channels * columns.window.taps());
  shape.push(columns.positions());
  if (!require_same_dtype(context, in, out) || !resize_out(context, out, shape.span())) return;
  switch_element_size(context, in.element_size(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_column_line(columns, image, out, [&](const ColumnLine& line) {
      T* const to = out.mutable_data_ptr<T>() + line.first;
      const T* const from = in.const_data_ptr<T>() + line.pixel;
      for (int64_t i = 0; i < line.begin; ++i) to[i * line.step] = T{};
      for (int64_t i = line.begin; i < line.end; ++i) to[i * line.step] = from[(i - line.begin) * line.pixel_step];
      for (int64_t i = line.end; i < line.count; ++i) to[i * line.step] = T{};
    });
  });
}

}  // namespace rushlight::portable
