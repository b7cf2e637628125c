#include "kernels/portable/nn.h"
#include "kernels/shared/fft.h"

namespace rushlight::portable {

void fft_r2c_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, int64_t normalization,
                 bool onesided, Tensor& out) {
  fourier_from_real(context, {&transform_lines, &transform_real_lines, &transform_lines_to_real}, in, dims,
                    normalization, onesided, out);
}

}  // namespace rushlight::portable
