#include "kernels/portable/nn.h"
#include "kernels/shared/pooling.h"

namespace rushlight::portable {

void adaptive_max_pool3d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                             Tensor& out, Tensor& indices) {
  RL_KERNEL_REQUIRE(context, output_size.size() == 3, InvalidArgument, "output_size has %zu values, not 3",
                    output_size.size());
  adaptive_max_pool(context, in, output_size, out, indices);
}

}  // namespace rushlight::portable
