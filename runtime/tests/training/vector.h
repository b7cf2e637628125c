#pragma once

#include <initializer_list>
#include <type_traits>
#include <vector>

#include "rushlight/core/tensor.h"

namespace rushlight {

// A tensor with one dimension, which owns its memory.
template <typename T>
struct Vector {
  static constexpr ScalarType kDtype = std::is_same_v<T, float>    ? ScalarType::Float
                                       : std::is_same_v<T, double> ? ScalarType::Double
                                       : std::is_same_v<T, Half>   ? ScalarType::Half
                                                                   : ScalarType::BFloat16;
  Vector(std::initializer_list<T> values) : data(values) {
    sizes[0] = static_cast<SizesType>(data.size());
    impl.data = data.data();
    impl.sizes = sizes;
    impl.strides = strides;
    impl.dim_order = order;
    impl.numel = sizes[0];
    impl.capacity = data.size() * sizeof(T);
    impl.dtype = kDtype;
    impl.dim = 1;
  }
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;
  Tensor tensor() { return Tensor(&impl); }
  std::vector<T> data;
  SizesType sizes[1];
  StridesType strides[1] = {1};
  DimOrderType order[1] = {0};
  TensorImpl impl;
};

}  // namespace rushlight
