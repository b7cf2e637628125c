#include "kernels/portable/nn.h"
#include "kernels/shared/pooling.h"

namespace rushlight::portable {

void max_pool2d_with_indices_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> kernel,
                                 Span<const int64_t> stride, Span<const int64_t> padding, Span<const int64_t> dilation,
                                 bool ceil_mode, Tensor& out, Tensor& indices) {
  Pooling pooling;
  if (!read_pooling(context, in, 2, kernel, stride, padding, dilation, ceil_mode, &pooling)) return;
  max_pool(context, pooling, in, out, indices);
}

}  // namespace rushlight::portable
