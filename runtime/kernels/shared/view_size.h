#pragma once

#include <cstdint>

#include "kernels/shared/shape.h"

namespace rushlight {

// The shape of a view of `numel` elements, one of whose sizes may be -1 and is then inferred. False and the failure
// recorded if there is none.
bool resolve_view_size(KernelRuntimeContext& context, int64_t numel, Span<const int64_t> sizes, Shape* shape);

}  // namespace rushlight
