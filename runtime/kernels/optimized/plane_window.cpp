#include "kernels/optimized/plane_window.h"

#include <algorithm>

namespace rushlight::optimized {

namespace {

constexpr int64_t kBandFloats = 5 * 1024;

}  // namespace

void set_bands(const microkernels::F32Microkernels& kernels, microkernels::DepthwisePlane* plane) {
  plane->row = depthwise_row(*plane, kernels);
  const int64_t halo = (plane->kernel_h - 1) * plane->dilation_h + 1 - plane->stride_h;
  const int64_t max_rows = std::max<int64_t>(4, (kBandFloats / plane->row - halo) / plane->stride_h);
  const int64_t bands = (plane->out_height + max_rows - 1) / max_rows;
  const int64_t rows = (plane->out_height + bands - 1) / bands;
  plane->band = std::min(plane->out_height, (rows + 3) / 4 * 4);
}

int64_t plane_scratch(const microkernels::DepthwisePlane& plane) { return (depthwise_scratch(plane) + 15) / 16 * 16; }

microkernels::DepthwisePlane pooled_plane(const microkernels::F32Microkernels& kernels, const Window3d& w,
                                          const ImageLayout& from, const ImageLayout& to) {
  microkernels::DepthwisePlane plane{};
  static_cast<Window&>(plane) = planar(w);
  plane.height = from.size[1], plane.width = from.size[2];
  plane.out_height = to.size[1], plane.out_width = to.size[2];
  set_bands(kernels, &plane);
  return plane;
}

}  // namespace rushlight::optimized
