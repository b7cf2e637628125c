#pragma once

#include <cstdint>
#include <optional>

#include "rushlight/core/kernel_context.h"

namespace rushlight {

// The elements start, start + step, ... of an axis; there are `size` of them.
struct Slice {
  int64_t start = 0, step = 1, size = 0;
};

// Computes the slice [start:end:step] of an axis of `size` elements, with Python's rules for negative and large
// indices. Records the failure and returns false if step is not positive.
bool resolve_slice(KernelRuntimeContext& context, int64_t size, std::optional<int64_t> start,
                   std::optional<int64_t> end, int64_t step, Slice* slice);

}  // namespace rushlight
