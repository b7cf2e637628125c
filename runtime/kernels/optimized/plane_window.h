#pragma once

#include "kernels/shared/window.h"
#include "microkernels/tables/f32.h"

namespace rushlight::optimized {

// Sets the plane's bands so that the padded input of one stays in the first level cache, and the length of its rows.
void set_bands(const microkernels::F32Microkernels& kernels, microkernels::DepthwisePlane* plane);

// Floats of scratch memory for a worker, a multiple of 16.
int64_t plane_scratch(const microkernels::DepthwisePlane& plane);

// The planes of `from` over which the window moves to give those of `to`, with their bands.
microkernels::DepthwisePlane pooled_plane(const microkernels::F32Microkernels& kernels, const Window3d& window,
                                          const ImageLayout& from, const ImageLayout& to);

}  // namespace rushlight::optimized
