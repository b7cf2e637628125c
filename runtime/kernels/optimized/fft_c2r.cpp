#include "kernels/optimized/fft_lines.h"
#include "kernels/optimized/nn.h"

namespace rushlight::optimized {

void fft_c2r_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, int64_t normalization,
                 int64_t last_dim_size, Tensor& out) {
  fourier_to_real(context, kLineTransforms, in, dims, normalization, last_dim_size, out);
}

}  // namespace rushlight::optimized
