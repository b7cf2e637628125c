#pragma once

#include "microkernels/tables/integer.h"
#include "rushlight/core/scalar_type.h"

namespace rushlight::optimized {

// An integer type of the microkernels, and its range.
struct IntegerRange {
  microkernels::IntegerType type;
  int64_t min, max;
};

// Returns false if the microkernels do not support the dtype.
bool integer_type_of(ScalarType type, IntegerRange* range);

}  // namespace rushlight::optimized
