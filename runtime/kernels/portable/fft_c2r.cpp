#include "kernels/portable/nn.h"
#include "kernels/shared/fft.h"

namespace rushlight::portable {

void fft_c2r_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, int64_t normalization,
                 int64_t last_dim_size, Tensor& out) {
  fourier_to_real(context, {&transform_lines, &transform_real_lines, &transform_lines_to_real}, in, dims, normalization,
                  last_dim_size, out);
}

}  // namespace rushlight::portable
