#pragma once

#include <optional>

#include "kernels/shared/shape.h"

namespace rushlight {

// Checks that sizes and strides, from `offset` (none: 0) on, stay within the elements of `storage`. Sets `shape` to the
// sizes and `first` to the offset. Otherwise records the failure and returns false.
bool read_strided_window(KernelRuntimeContext& context, const Tensor& storage, Span<const int64_t> sizes,
                         Span<const int64_t> strides, std::optional<int64_t> offset, Shape* shape, int64_t* first);

}  // namespace rushlight
