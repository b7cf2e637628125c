#pragma once

#include "kernels/optimized/tiles/tiles.h"

namespace rushlight::optimized {

// Sets the plane's bands so that the padded input of one stays in the first level cache, and the length of its rows.
void set_bands(const tiles::Tiles& tiles, tiles::DepthwisePlane* plane);

// Floats of scratch memory for a worker, a multiple of 16.
int64_t plane_scratch(const tiles::DepthwisePlane& plane);

}  // namespace rushlight::optimized
