#include "kernels/portable/nn.h"
#include "kernels/shared/resample.h"

namespace rushlight::portable {

void upsample_bilinear2d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                             bool align_corners, std::optional<double> scale_h, std::optional<double> scale_w,
                             Tensor& out) {
  Resample request;
  request.interpolation = Interpolation::Linear;
  request.dims = 2;
  request.align_corners = align_corners;
  request.scale[0] = scale_h;
  request.scale[1] = scale_w;
  if (read_sizes(context, output_size, &request)) resample(context, request, in, out);
}

void upsample_bilinear2d_vec_out(KernelRuntimeContext& context, const Tensor& in,
                                 std::optional<Span<const int64_t>> output_size, bool align_corners,
                                 std::optional<Span<const double>> scale_factors, Tensor& out) {
  Resample request;
  request.interpolation = Interpolation::Linear;
  request.dims = 2;
  request.align_corners = align_corners;
  if (read_sizes_or_factors(context, in, output_size, scale_factors, &request)) resample(context, request, in, out);
}

}  // namespace rushlight::portable
