#pragma once

#include <optional>

#include "kernels/shared/shape.h"

namespace rushlight {

// Checks that all elements with these sizes and strides, from `offset` (nullopt: 0) on, are inside `storage`. Sets
// `shape` to the sizes and `first` to the offset; otherwise records the failure and returns false.
bool read_strided_window(KernelRuntimeContext& context, const Tensor& storage, Span<const int64_t> sizes,
                         Span<const int64_t> strides, std::optional<int64_t> offset, Shape* shape, int64_t* first);

}  // namespace rushlight
