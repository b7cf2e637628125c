#pragma once

#include <cstdint>
#include <optional>

#include "kernels/shared/shape.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// Converts `dims` to a set of axes as bits. If an axis is out of range or occurs twice, records the failure and returns
// false.
bool axis_mask(KernelRuntimeContext& context, Span<const int64_t> dims, int64_t rank, uint32_t* mask);

// Records the failure and returns false if the dtypes differ.
bool require_same_dtype(KernelRuntimeContext& context, const Tensor& a, const Tensor& b);

// Records the failure and returns false if `tensor`, called `name`, has another shape.
bool require_shape(KernelRuntimeContext& context, const char* name, const Tensor& tensor, const Shape& shape);

// Records the failure and returns false if `out` does not have the dim order `dim_order`; nullopt accepts any.
bool require_dim_order(KernelRuntimeContext& context, std::optional<Span<const int64_t>> dim_order, const Tensor& out);

// Return the size and stride of an axis. A tensor of rank 0 has one axis with one element.
inline int64_t size_at(const Tensor& tensor, int64_t axis) { return tensor.dim() == 0 ? 1 : tensor.size(axis); }
inline int64_t stride_at(const Tensor& tensor, int64_t axis) { return tensor.dim() == 0 ? 1 : tensor.stride(axis); }

// Returns whether elements are contiguous in row-major order. The strides of axes of size 1 are ignored.
bool is_row_major(const Tensor& tensor);

// Returns whether both tensors have the same shape, and equal strides in axes with more than one element.
bool same_layout(const Tensor& a, const Tensor& b);

}  // namespace rushlight
