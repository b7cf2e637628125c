#include "kernels/portable/nn.h"
#include "kernels/shared/resample.h"

namespace rushlight::portable {

void upsample_linear1d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                           bool align_corners, std::optional<double> scale, Tensor& out) {
  Resample request;
  request.interpolation = Interpolation::Linear;
  request.dims = 1;
  request.align_corners = align_corners;
  request.scale[0] = scale;
  if (read_sizes(context, output_size, &request)) resample(context, request, in, out);
}

}  // namespace rushlight::portable
