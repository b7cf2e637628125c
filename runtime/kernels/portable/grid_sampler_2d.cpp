#include "kernels/portable/nn.h"
#include "kernels/shared/grid_sampler.h"

namespace rushlight::portable {

void grid_sampler_2d_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& grid,
                         int64_t interpolation_mode, int64_t padding_mode, bool align_corners, Tensor& out) {
  grid_sample(context, in, grid, 2, interpolation_mode, padding_mode, align_corners, out);
}

}  // namespace rushlight::portable
