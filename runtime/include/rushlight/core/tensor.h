#pragma once

#include <cstddef>
#include <cstdint>

#include "rushlight/core/device.h"
#include "rushlight/core/error.h"
#include "rushlight/core/scalar_type.h"
#include "rushlight/core/span.h"

namespace rushlight {

class MemoryAllocator;

using SizesType = int32_t;
using StridesType = int32_t;
using DimOrderType = uint8_t;

// The largest number of dimensions of a tensor.
inline constexpr int kMaxDim = 16;

// Whether the sizes of a tensor are fixed, have upper bounds, or have no bounds. The rank is always fixed.
enum class ShapeDynamism : uint8_t { STATIC = 0, DYNAMIC_BOUND = 1, DYNAMIC_UNBOUND = 2 };

// The memory and shape of one tensor. It does not own its memory. Tensor is a handle to it.
struct TensorImpl {
  void* data = nullptr;
  SizesType* sizes = nullptr;               // [dim]
  StridesType* strides = nullptr;           // [dim], elements
  const DimOrderType* dim_order = nullptr;  // [dim], outermost first
  const SizesType* max_sizes = nullptr;     // [dim], upper bounds of a DYNAMIC_BOUND tensor; null for others
  int64_t numel = 0;
  size_t capacity = 0;                // bytes at `data` that may be written; 0 for a constant of a program
  MemoryAllocator* growth = nullptr;  // allocates more memory for a DYNAMIC_UNBOUND tensor; may be null
  ScalarType dtype = ScalarType::Float;
  ShapeDynamism dynamism = ShapeDynamism::STATIC;
  uint8_t dim = 0;

  void set_data(void* memory) { data = memory; }
};

// A handle to a tensor. Copies refer to the same tensor, which must outlive them.
class Tensor {
 public:
  using SizesType = rushlight::SizesType;
  using StridesType = rushlight::StridesType;
  using DimOrderType = rushlight::DimOrderType;

  explicit Tensor(TensorImpl* impl) : impl_(impl) {}

  ScalarType scalar_type() const { return impl_->dtype; }
  ScalarType dtype() const { return impl_->dtype; }
  int64_t dim() const { return impl_->dim; }
  // `axis` must be from 0 to dim() - 1. Strides are in elements.
  int64_t size(int64_t axis) const { return impl_->sizes[axis]; }
  int64_t stride(int64_t axis) const { return impl_->strides[axis]; }
  Span<const SizesType> sizes() const { return {impl_->sizes, static_cast<size_t>(impl_->dim)}; }
  Span<const StridesType> strides() const { return {impl_->strides, static_cast<size_t>(impl_->dim)}; }
  Span<const DimOrderType> dim_order() const { return {impl_->dim_order, static_cast<size_t>(impl_->dim)}; }
  int64_t numel() const { return impl_->numel; }
  size_t element_size() const { return rushlight::element_size(impl_->dtype); }
  size_t nbytes() const { return static_cast<size_t>(impl_->numel) * element_size(); }
  ShapeDynamism shape_dynamism() const { return impl_->dynamism; }

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

  template <typename T = void>
  T* data_ptr() const {  // ExecuTorch's older name of mutable_data_ptr()
    return static_cast<T*>(impl_->data);
  }
  Device device() const { return Device(DeviceType::CPU, 0); }
  DeviceType device_type() const { return DeviceType::CPU; }

  TensorImpl* impl() const { return impl_; }
  TensorImpl* unsafeGetTensorImpl() const { return impl_; }  // ExecuTorch's name of impl()

 private:
  TensorImpl* impl_;
};

// Sets the shape of a tensor, with strides in its dim order.
//
// The rank cannot change. The sizes of a STATIC tensor cannot change. The sizes of a DYNAMIC_BOUND tensor must be
// within its bounds. The bytes must be within the tensor's capacity; only a DYNAMIC_UNBOUND tensor with an allocator
// may exceed it: its elements are then copied to a new block of at least twice the size. All blocks of a tensor
// together are at most four times as large as its largest shape. Returns InvalidArgument or NotSupported for a shape
// that is not allowed, and MemoryAllocationFailed or OutOfResources if there is not enough memory.
Error resize_tensor(const Tensor& tensor, Span<const SizesType> sizes);

// Computes the strides of a dense tensor. `dim_order` lists its dimensions from outermost to innermost; both arrays
// have sizes.size() elements. The result is in elements.
void strides_from_dim_order(Span<const SizesType> sizes, const DimOrderType* dim_order, StridesType* strides);

// Returns whether the order is 0, 1, ..., dim - 1.
bool is_contiguous_dim_order(Span<const DimOrderType> order);
// Returns whether the order is 0, 2, 3, 1 or 0, 2, 3, 4, 1.
bool is_channels_last_dim_order(Span<const DimOrderType> order);

// Returns whether two tensors have the same sizes.
bool same_shape(const Tensor& a, const Tensor& b);

// Returns the product of the sizes, or -1 if a size is negative or the product overflows.
int64_t checked_numel(Span<const SizesType> sizes);

}  // namespace rushlight
