#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "rushlight/core/evalue.h"
#include "rushlight/core/scalar.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// A tensor with its shape and, unless from_blob() made it, its elements: what a host hands to a method. The functions
// have the names of ExecuTorch's extension/tensor. They give null, with the reason in last_error_message(), if a shape
// is impossible or the elements are not as many as it says.
using TensorPtr = std::shared_ptr<Tensor>;

// Over `data`, densely packed, which outlives the tensor.
TensorPtr from_blob(void* data, std::vector<SizesType> sizes, ScalarType dtype = ScalarType::Float);
// The same; `deleter` is called with `data` when the tensor goes, or at once if there is none.
TensorPtr from_blob(void* data, std::vector<SizesType> sizes, ScalarType dtype, std::function<void(void*)> deleter);
// Over `data`, packed with the dimensions in `dim_order`, outermost first: {0, 2, 3, 1} for channels last.
TensorPtr from_blob(void* data, std::vector<SizesType> sizes, std::vector<DimOrderType> dim_order,
                    ScalarType dtype = ScalarType::Float);

// Elements not set.
TensorPtr empty(std::vector<SizesType> sizes, ScalarType dtype = ScalarType::Float);
// `value` as ATen converts it to the dtype; no complex dtypes.
TensorPtr full(std::vector<SizesType> sizes, const Scalar& value, ScalarType dtype = ScalarType::Float);
TensorPtr zeros(std::vector<SizesType> sizes, ScalarType dtype = ScalarType::Float);
TensorPtr ones(std::vector<SizesType> sizes, ScalarType dtype = ScalarType::Float);

// A copy with memory of its own.
TensorPtr clone_tensor_ptr(const Tensor& tensor);

// Over `count` elements that live as long as `owner`.
TensorPtr make_tensor_ptr(std::vector<SizesType> sizes, ScalarType dtype, void* data, size_t count,
                          std::shared_ptr<void> owner);
// Takes the elements over.
template <typename T>
TensorPtr make_tensor_ptr(std::vector<SizesType> sizes, std::vector<T> data) {
  static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no elements to point at: take full(), or uint8_t");
  auto owner = std::make_shared<std::vector<T>>(std::move(data));
  return make_tensor_ptr(std::move(sizes), scalar_type_of<T>, owner->data(), owner->size(), owner);
}
// One dimension.
template <typename T>
TensorPtr make_tensor_ptr(std::vector<T> data) {
  const auto size = static_cast<SizesType>(data.size());
  return make_tensor_ptr<T>({size}, std::move(data));
}

// What Module::forward takes: none if the pointer is null.
inline EValue value_of(const TensorPtr& tensor) { return tensor ? EValue(*tensor) : EValue(); }
inline EValue value_of(const Tensor& tensor) { return EValue(tensor); }
inline EValue value_of(const EValue& value) { return value; }
template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
EValue value_of(T number) {
  if constexpr (std::is_same_v<T, bool>) {
    return EValue(number);
  } else if constexpr (std::is_integral_v<T>) {
    return EValue(static_cast<int64_t>(number));
  } else {
    return EValue(static_cast<double>(number));
  }
}

}  // namespace rushlight
