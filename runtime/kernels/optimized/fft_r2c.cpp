#include "kernels/optimized/fft_lines.h"
#include "kernels/optimized/nn.h"

namespace rushlight::optimized {

void fft_r2c_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, int64_t normalization,
                 bool onesided, Tensor& out) {
  fourier_from_real(context, kLineTransforms, in, dims, normalization, onesided, out);
}

}  // namespace rushlight::optimized
