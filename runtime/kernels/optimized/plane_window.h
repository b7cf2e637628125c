#pragma once

#include "kernels/shared/window.h"
#include "microkernels/tables/f32.h"

namespace rushlight::optimized {

// Sets the row length of a plane, and bands whose padded input fits into the first-level cache.
void set_bands(const microkernels::F32Microkernels& kernels, microkernels::DepthwisePlane* plane);

// Returns the floats of scratch memory per worker, a multiple of 16.
int64_t plane_scratch(const microkernels::DepthwisePlane& plane);

// Returns the planes of `from`, over which the window moves, and of `to`, with their bands.
microkernels::DepthwisePlane pooled_plane(const microkernels::F32Microkernels& kernels, const Window3d& window,
                                          const ImageLayout& from, const ImageLayout& to);

}  // namespace rushlight::optimized
