#include "kernels/portable/nn.h"
#include "kernels/shared/fft.h"

namespace rushlight::portable {

void fft_c2c_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, int64_t normalization,
                 bool forward, Tensor& out) {
  fourier_complex(context, {&transform_lines, &transform_real_lines, &transform_lines_to_real}, in, dims, normalization,
                  forward, out);
}

}  // namespace rushlight::portable
