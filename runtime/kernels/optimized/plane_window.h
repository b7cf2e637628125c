#pragma once

#include "kernels/optimized/tiles/tiles.h"
#include "kernels/shared/window.h"

namespace rushlight::optimized {

// Sets the plane's bands so that the padded input of one stays in the first level cache, and the length of its rows.
void set_bands(const tiles::Tiles& tiles, tiles::DepthwisePlane* plane);

// Floats of scratch memory for a worker, a multiple of 16.
int64_t plane_scratch(const tiles::DepthwisePlane& plane);

// The planes of `from` over which the window moves to give those of `to`, with their bands.
tiles::DepthwisePlane pooled_plane(const tiles::Tiles& tiles, const Window& window, const Image& from, const Image& to);

}  // namespace rushlight::optimized
