#include "kernels/portable/nn.h"
#include "kernels/shared/resample.h"

namespace rushlight::portable {

void upsample_bicubic2d_aa_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                               bool align_corners, std::optional<double> scale_h, std::optional<double> scale_w,
                               Tensor& out) {
  Resample request;
  request.interpolation = Interpolation::Cubic;
  request.dims = 2;
  request.align_corners = align_corners;
  request.antialias = true;
  request.scale[0] = scale_h;
  request.scale[1] = scale_w;
  if (read_sizes(context, output_size, &request)) resample(context, request, in, out);
}

}  // namespace rushlight::portable
