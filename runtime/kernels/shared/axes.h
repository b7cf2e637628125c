#pragma once

#include <cstdint>
#include <optional>

#include "kernels/shared/shape.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// The axes of `dims` as bits; false and the failure recorded if one is out of range or named twice.
bool axis_mask(KernelRuntimeContext& context, Span<const int64_t> dims, int64_t rank, uint32_t* mask);

// Records the failure and returns false if the element types differ.
bool require_same_dtype(KernelRuntimeContext& context, const Tensor& a, const Tensor& b);

// Records the failure and returns false if `tensor`, called `name`, has another shape.
bool require_shape(KernelRuntimeContext& context, const char* name, const Tensor& tensor, const Shape& shape);

// Records the failure and returns false if `out` is not laid out in `dim_order` (none: any).
bool require_dim_order(KernelRuntimeContext& context, std::optional<Span<const int64_t>> dim_order, const Tensor& out);

// Size and stride of an axis, where a tensor of rank 0 has one axis of one element.
inline int64_t size_at(const Tensor& tensor, int64_t axis) { return tensor.dim() == 0 ? 1 : tensor.size(axis); }
inline int64_t stride_at(const Tensor& tensor, int64_t axis) { return tensor.dim() == 0 ? 1 : tensor.stride(axis); }

// Whether elements lie in row-major order (axes of one element aside).
bool is_row_major(const Tensor& tensor);

// Whether both have the same shape and place equal indices at equal offsets.
bool same_layout(const Tensor& a, const Tensor& b);

}  // namespace rushlight
