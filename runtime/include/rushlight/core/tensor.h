#pragma once

#include <cstddef>
#include <cstdint>

#include "rushlight/core/error.h"
#include "rushlight/core/scalar_type.h"
#include "rushlight/core/span.h"

namespace rushlight {

class MemoryAllocator;

using SizesType = int32_t;
using StridesType = int32_t;
using DimOrderType = uint8_t;

inline constexpr int kMaxDim = 16;

enum class ShapeDynamism : uint8_t { Static = 0, DynamicBound = 1, DynamicUnbound = 2 };

// Storage and shape of one tensor. Lives in an allocator; Tensor is a handle to it.
struct TensorImpl {
  void* data = nullptr;
  SizesType* sizes = nullptr;               // [dim]
  StridesType* strides = nullptr;           // [dim], elements
  const DimOrderType* dim_order = nullptr;  // [dim], outermost first
  const SizesType* max_sizes = nullptr;     // [dim], upper bounds of a DynamicBound tensor, else null
  int64_t numel = 0;
  size_t capacity = 0;                // bytes at `data`
  MemoryAllocator* growth = nullptr;  // where a DynamicUnbound tensor takes memory when it outgrows `data`, or null
  ScalarType dtype = ScalarType::Float;
  ShapeDynamism dynamism = ShapeDynamism::Static;
  uint8_t dim = 0;
};

// A handle: copies refer to the same tensor.
class Tensor {
 public:
  explicit Tensor(TensorImpl* impl) : impl_(impl) {}

  ScalarType scalar_type() const { return impl_->dtype; }
  int64_t dim() const { return impl_->dim; }
  // `axis` from 0 to dim() - 1.
  int64_t size(int64_t axis) const { return impl_->sizes[axis]; }
  int64_t stride(int64_t axis) const { return impl_->strides[axis]; }
  Span<const SizesType> sizes() const { return {impl_->sizes, impl_->dim}; }
  Span<const StridesType> strides() const { return {impl_->strides, impl_->dim}; }
  Span<const DimOrderType> dim_order() const { return {impl_->dim_order, impl_->dim}; }
  int64_t numel() const { return impl_->numel; }
  size_t element_size() const { return rushlight::element_size(impl_->dtype); }
  size_t nbytes() const { return static_cast<size_t>(impl_->numel) * element_size(); }
  ShapeDynamism dynamism() const { return impl_->dynamism; }

  const void* const_data_ptr() const { return impl_->data; }
  void* mutable_data_ptr() const { return impl_->data; }
  template <typename T>
  const T* const_data_ptr() const {
    return static_cast<const T*>(impl_->data);
  }
  template <typename T>
  T* mutable_data_ptr() const {
    return static_cast<T*>(impl_->data);
  }

  TensorImpl* impl() const { return impl_; }

 private:
  TensorImpl* impl_;
};

// Sets the shape, and strides by the tensor's dim order. The rank must stay, a Static tensor's sizes must equal
// its own, a DynamicBound tensor's sizes must be within its bounds, and the bytes within its capacity, unless it may
// grow: then it moves, with its elements, to at least twice the memory, so that all its moves take four times
// the memory of its largest shape at most.
Error resize_tensor(const Tensor& tensor, Span<const SizesType> sizes);

// Fills strides[dim] for densely packed sizes[dim] in the given order (outermost dimension first).
void strides_from_dim_order(Span<const SizesType> sizes, const DimOrderType* dim_order, StridesType* strides);

// 0, 1, ..., dim - 1.
bool is_contiguous_dim_order(Span<const DimOrderType> order);
// 0, 2, 3, 1 or 0, 2, 3, 4, 1.
bool is_channels_last_dim_order(Span<const DimOrderType> order);

bool same_shape(const Tensor& a, const Tensor& b);

// Product of sizes, or -1 if a size is negative or the product overflows.
int64_t checked_numel(Span<const SizesType> sizes);

}  // namespace rushlight
