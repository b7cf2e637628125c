#include "kernels/optimized/fft_lines.h"
#include "kernels/optimized/nn.h"

namespace rushlight::optimized {

void fft_c2c_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, int64_t normalization,
                 bool forward, Tensor& out) {
  fourier_complex(context, kLineTransforms, in, dims, normalization, forward, out);
}

}  // namespace rushlight::optimized
