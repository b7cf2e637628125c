#pragma once

#include "kernels/optimized/tiles/whole_tiles.h"
#include "rushlight/core/scalar_type.h"

namespace rushlight::optimized {

// A type of whole numbers that tiles have, and its range.
struct Whole {
  tiles::WholeType type;
  int64_t least, most;
};

// False if tiles do not have the type.
bool whole_of(ScalarType type, Whole* whole);

}  // namespace rushlight::optimized
