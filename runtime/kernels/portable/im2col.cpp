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
    for_each_column(columns, image, out, [&](int64_t image_offset, int64_t column_offset) {
      out.mutable_data_ptr<T>()[column_offset] = image_offset < 0 ? T{} : in.const_data_ptr<T>()[image_offset];
    });
  });
}

}  // namespace rushlight::portable
