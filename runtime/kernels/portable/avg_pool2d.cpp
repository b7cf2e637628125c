#include "kernels/portable/nn.h"
#include "kernels/shared/pooling.h"

namespace rushlight::portable {

void avg_pool2d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> kernel,
                    Span<const int64_t> stride, Span<const int64_t> padding, bool ceil_mode, bool count_include_pad,
                    std::optional<int64_t> divisor, Tensor& out) {
  AveragePooling pooling;
  RL_KERNEL_REQUIRE(context, !divisor || *divisor != 0, InvalidArgument, "the divisor is 0");
  pooling.divisor = divisor.value_or(0);
  pooling.count_padding = count_include_pad;
  if (!read_pooling(context, in, 2, kernel, stride, padding, {}, ceil_mode, &pooling)) return;
  average_pool(context, pooling, in, out);
}

}  // namespace rushlight::portable
