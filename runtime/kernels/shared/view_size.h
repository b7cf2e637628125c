#pragma once

#include <cstdint>

#include "kernels/shared/shape.h"

namespace rushlight {

// Computes the shape of a view of `numel` elements. One size may be -1; it is inferred. If there is no such shape,
// records the failure and returns false.
bool resolve_view_size(KernelRuntimeContext& context, int64_t numel, Span<const int64_t> sizes, Shape* shape);

}  // namespace rushlight
