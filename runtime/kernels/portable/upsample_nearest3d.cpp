#include "kernels/portable/nn.h"
#include "kernels/shared/resample.h"

namespace rushlight::portable {

void upsample_nearest3d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                            std::optional<double> scale_d, std::optional<double> scale_h, std::optional<double> scale_w,
                            Tensor& out) {
  Resample request;
  request.interpolation = Interpolation::Nearest;
  request.dims = 3;
  request.scale[0] = scale_d;
  request.scale[1] = scale_h;
  request.scale[2] = scale_w;
  if (read_sizes(context, output_size, &request)) resample(context, request, in, out);
}

}  // namespace rushlight::portable
