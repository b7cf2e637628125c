#pragma once

#include <cstddef>
#include <cstdint>

#include "executorch/runtime/core/error.h"
#include "executorch/runtime/core/exec_aten/exec_aten.h"
#include "rushlight/core/tensor.h"

namespace executorch {
namespace runtime {

// Returns whether a dim order contains each dimension once.
template <typename DimOrderType>
bool validate_dim_order(const DimOrderType* dim_order, size_t dims) {
  uint32_t seen = 0;
  for (size_t i = 0; i < dims; ++i) {
    if (static_cast<size_t>(dim_order[i]) >= dims || ((seen >> dim_order[i]) & 1u) != 0) return false;
    seen |= 1u << dim_order[i];
  }
  return true;
}

template <typename DimOrderType>
bool is_contiguous_dim_order(const DimOrderType* dim_order, size_t dims) {
  return ::rushlight::is_contiguous_dim_order(Span<const uint8_t>(dim_order, dims));
}
template <typename DimOrderType>
bool is_channels_last_dim_order(const DimOrderType* dim_order, size_t dims) {
  return ::rushlight::is_channels_last_dim_order(Span<const uint8_t>(dim_order, dims));
}

// Computes the strides of a dense tensor, in elements.
template <typename SizesType, typename DimOrderType, typename StridesType>
void dim_order_to_stride_nocheck(const SizesType* sizes, const DimOrderType* dim_order, size_t dims,
                                 StridesType* strides) {
  ::rushlight::strides_from_dim_order(Span<const SizesType>(sizes, dims), dim_order, strides);
}
// Does the same, or returns InvalidArgument if the dim order does not contain each dimension once.
template <typename SizesType, typename DimOrderType, typename StridesType>
ET_NODISCARD Error dim_order_to_stride(const SizesType* sizes, const DimOrderType* dim_order, size_t dims,
                                       StridesType* strides) {
  if (!validate_dim_order(dim_order, dims)) return Error::InvalidArgument;
  dim_order_to_stride_nocheck(sizes, dim_order, dims, strides);
  return Error::Ok;
}

// Writes the dimensions in the order of decreasing strides; equal strides keep their order. Returns InvalidArgument if
// a stride is 0 or there are too many dimensions.
template <typename DimOrderType, typename StridesType>
ET_NODISCARD Error stride_to_dim_order(const StridesType* strides, size_t dims, DimOrderType* dim_order) {
  if (dims > static_cast<size_t>(::rushlight::kMaxDim)) return Error::InvalidArgument;
  for (size_t i = 0; i < dims; ++i) {
    if (strides[i] == 0) return Error::InvalidArgument;
    size_t place = i;
    for (; place > 0 && strides[dim_order[place - 1]] < strides[i]; --place) dim_order[place] = dim_order[place - 1];
    dim_order[place] = static_cast<DimOrderType>(i);
  }
  return Error::Ok;
}

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::dim_order_to_stride;
using ::executorch::runtime::dim_order_to_stride_nocheck;
using ::executorch::runtime::is_channels_last_dim_order;
using ::executorch::runtime::is_contiguous_dim_order;
using ::executorch::runtime::stride_to_dim_order;
}  // namespace executor
}  // namespace torch
