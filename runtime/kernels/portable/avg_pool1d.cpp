#include "kernels/portable/nn.h"
#include "kernels/shared/pooling.h"

namespace rushlight::portable {

void avg_pool1d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> kernel,
                    Span<const int64_t> stride, Span<const int64_t> padding, bool ceil_mode, bool count_include_pad,
                    Tensor& out) {
  AveragePooling pooling;

  pooling.count_padding = count_include_pad;
  if (!read_pooling(context, in, 1, kernel, stride, padding, {}, ceil_mode, &pooling)) return;
  average_pool(context, pooling, in, out);
}

}  // namespace rushlight::portable
