#pragma once

#include <cstdint>

#include "executorch/runtime/core/array_ref.h"
#include "executorch/runtime/core/portable_type/device.h"
#include "executorch/runtime/core/portable_type/scalar_type.h"
#include "executorch/runtime/core/result.h"
#include "executorch/runtime/core/tensor_shape_dynamism.h"
#include "rushlight/core/tensor.h"

namespace executorch {
namespace runtime {
namespace etensor {

// The memory and shape of a tensor that an application makes from its own arrays. The arrays must outlive it. A null
// dim order and null strides mean a contiguous tensor.
class TensorImpl : public ::rushlight::TensorImpl {
 public:
  using SizesType = ::rushlight::SizesType;
  using DimOrderType = ::rushlight::DimOrderType;
  using StridesType = ::rushlight::StridesType;

  TensorImpl() = delete;
  TensorImpl(ScalarType type, ssize_t dim, SizesType* sizes, void* data = nullptr, DimOrderType* dim_order = nullptr,
             StridesType* strides = nullptr, TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC,
             DeviceType device_type = DeviceType::CPU, DeviceIndex device_index = 0);
  TensorImpl(const TensorImpl& other);
  TensorImpl& operator=(const TensorImpl&) = delete;

  size_t nbytes() const { return static_cast<size_t>(base().numel) * static_cast<size_t>(element_size()); }
  ssize_t size(ssize_t axis) const { return base().sizes[axis]; }
  ssize_t dim() const { return base().dim; }
  ssize_t numel() const { return static_cast<ssize_t>(base().numel); }
  ScalarType scalar_type() const { return base().dtype; }
  ScalarType dtype() const { return base().dtype; }
  ssize_t element_size() const { return static_cast<ssize_t>(::rushlight::element_size(base().dtype)); }
  ArrayRef<SizesType> sizes() const { return {base().sizes, static_cast<size_t>(base().dim)}; }
  ArrayRef<DimOrderType> dim_order() const { return {base().dim_order, static_cast<size_t>(base().dim)}; }
  ArrayRef<StridesType> strides() const { return {base().strides, static_cast<size_t>(base().dim)}; }
  TensorShapeDynamism shape_dynamism() const { return base().dynamism; }
  Device device() const { return Device(DeviceType::CPU, 0); }
  DeviceType device_type() const { return DeviceType::CPU; }
  DeviceIndex device_index() const { return 0; }
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(base().data);
  }
  const void* data() const { return base().data; }
  template <typename T>
  T* mutable_data() const {
    return static_cast<T*>(base().data);
  }
  void* mutable_data() const { return base().data; }

 private:
  const ::rushlight::TensorImpl& base() const { return *this; }
  DimOrderType own_dim_order_[::rushlight::kMaxDim];
  StridesType own_strides_[::rushlight::kMaxDim];
};

// Returns the product of the sizes.
ssize_t compute_numel(const TensorImpl::SizesType* sizes, ssize_t dim);
// Returns the product of the sizes, or InvalidArgument if a size is negative or the product overflows.
Result<ssize_t> safe_numel(const TensorImpl::SizesType* sizes, ssize_t dim);

#define ET_PRI_TENSOR_SIZE "zd"
#define ET_PRI_TENSOR_DIM "zd"
#define ET_PRI_TENSOR_NUMEL "zd"
#define ET_PRI_SIZES_AND_STRIDES "d"

}  // namespace etensor
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::etensor::compute_numel;
using ::executorch::runtime::etensor::safe_numel;
using ::executorch::runtime::etensor::TensorImpl;
}  // namespace executor
}  // namespace torch
