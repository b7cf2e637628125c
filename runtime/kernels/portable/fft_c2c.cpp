#include "kernels/portable/nn.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/fft.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void fft_c2c_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, int64_t normalization,
                 bool forward, Tensor& out) {
  uint32_t mask;
  if (!axis_mask(context, dims, in.dim(), &mask) || !require_same_dtype(context, in, out)) return;
  const auto axis_of = [&](int64_t dim) { return dim < 0 ? dim + in.dim() : dim; };
  double points = 1, scale;
  for (const int64_t dim : dims) points *= static_cast<double>(in.dim() == 0 ? 1 : in.size(axis_of(dim)));
  if (!fourier_scale(context, normalization, points, &scale) || !resize_out(context, out, in.sizes())) return;
  copy_elements(context, in, out);
  for (size_t i = 0; i < dims.size() && in.dim() > 0 && !context.failed(); ++i) {
    transform_lines(context, out, axis_of(dims[i]), !forward, i == 0 ? scale : 1);
  }
}

}  // namespace rushlight::portable
