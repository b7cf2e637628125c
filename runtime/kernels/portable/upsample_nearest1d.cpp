#include "kernels/portable/nn.h"
#include "kernels/shared/resample.h"

namespace rushlight::portable {

void upsample_nearest1d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                            std::optional<double> scale, Tensor& out) {
  Resample request;
  request.interpolation = Interpolation::Nearest;
  request.dims = 1;
  request.scale[0] = scale;
  if (read_sizes(context, output_size, &request)) resample(context, request, in, out);
}

}  // namespace rushlight::portable
