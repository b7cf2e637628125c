// Tensors that own their memory, for tests of kernels.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "rushlight/core/tensor.h"

namespace rushlight::testing {

// A contiguous tensor. It may be resized within `capacity` elements.
class TestTensor {
 public:
  TestTensor(ScalarType dtype, std::vector<SizesType> sizes, size_t capacity = 0)
      : sizes_(std::move(sizes)), strides_(sizes_.size() + 1), order_(sizes_.size() + 1) {
    for (size_t i = 0; i < sizes_.size(); ++i) order_[i] = static_cast<DimOrderType>(i);
    impl_.numel = checked_numel({sizes_.data(), sizes_.size()});
    const size_t count = static_cast<size_t>(impl_.numel);
    impl_.capacity = (capacity > count ? capacity : count) * element_size(dtype);
    memory_ = std::make_unique<uint8_t[]>(impl_.capacity);
    impl_.data = memory_.get();
    impl_.dtype = dtype;
    impl_.dim = static_cast<uint8_t>(sizes_.size());
    impl_.sizes = sizes_.data();
    impl_.strides = strides_.data();
    impl_.dim_order = order_.data();
    impl_.dynamism = ShapeDynamism::DYNAMIC_UNBOUND;
    strides_from_dim_order({sizes_.data(), sizes_.size()}, order_.data(), strides_.data());
  }
  template <typename T>
  TestTensor(std::vector<SizesType> sizes, const std::vector<T>& values)
      : TestTensor(scalar_type_of<T>, std::move(sizes), values.size()) {
    if (!values.empty()) std::memcpy(impl_.data, values.data(), values.size() * sizeof(T));
  }

  TensorImpl* impl() { return &impl_; }
  // Moves the tensor to the memory of another tensor, and copies as many bytes as fit.
  void move_into(const TestTensor& other) {
    std::memcpy(other.impl_.data, impl_.data,
                impl_.capacity < other.impl_.capacity ? impl_.capacity : other.impl_.capacity);
    impl_.data = other.impl_.data;
  }
  std::vector<uint8_t> bytes() const {
    const auto* data = static_cast<const uint8_t*>(impl_.data);
    return {data, data + static_cast<size_t>(impl_.numel) * element_size(impl_.dtype)};
  }

 private:
  std::vector<SizesType> sizes_;
  std::vector<StridesType> strides_;
  std::vector<DimOrderType> order_;
  std::unique_ptr<uint8_t[]> memory_;
  TensorImpl impl_;
};

}  // namespace rushlight::testing
