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

// A tensor that owns its shape and, unless from_blob() made it, its elements. Applications pass it to methods. The
// functions have the names of ExecuTorch's extension/tensor. They return null, with the reason in
// last_error_message(), if the shape is invalid or the number of elements differs from it.
using TensorPtr = std::shared_ptr<Tensor>;

// Makes a dense tensor over the elements at `data`, which the caller owns and which must outlive the tensor.
TensorPtr from_blob(void* data, std::vector<SizesType> sizes, ScalarType dtype = ScalarType::Float);
// Does the same. `deleter(data)` is called when the tensor is destroyed, or at once if there is an error.
TensorPtr from_blob(void* data, std::vector<SizesType> sizes, ScalarType dtype, std::function<void(void*)> deleter);
// Makes a dense tensor over `data`, with the dimensions in `dim_order` from outermost to innermost: {0, 2, 3, 1} means
// channels last.
TensorPtr from_blob(void* data, std::vector<SizesType> sizes, std::vector<DimOrderType> dim_order,
                    ScalarType dtype = ScalarType::Float);

// Makes a tensor whose elements are not initialized.
TensorPtr empty(std::vector<SizesType> sizes, ScalarType dtype = ScalarType::Float);
// Makes a tensor with all elements equal to `value`, converted to the dtype by the rules of ATen. The dtype must not be
// complex.
TensorPtr full(std::vector<SizesType> sizes, const Scalar& value, ScalarType dtype = ScalarType::Float);
TensorPtr zeros(std::vector<SizesType> sizes, ScalarType dtype = ScalarType::Float);
TensorPtr ones(std::vector<SizesType> sizes, ScalarType dtype = ScalarType::Float);

// Makes a copy that owns its elements.
TensorPtr clone_tensor_ptr(const Tensor& tensor);

// Makes a tensor over `count` elements at `data`, which `owner` keeps alive.
TensorPtr make_tensor_ptr(std::vector<SizesType> sizes, ScalarType dtype, void* data, size_t count,
                          std::shared_ptr<void> owner);
// Makes a tensor that owns the elements of `data`.
template <typename T>
TensorPtr make_tensor_ptr(std::vector<SizesType> sizes, std::vector<T> data) {
  static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no elements to point at: take full(), or uint8_t");
  auto owner = std::make_shared<std::vector<T>>(std::move(data));
  return make_tensor_ptr(std::move(sizes), scalar_type_of<T>, owner->data(), owner->size(), owner);
}
// Makes a tensor of one dimension that owns the elements of `data`.
template <typename T>
TensorPtr make_tensor_ptr(std::vector<T> data) {
  const auto size = static_cast<SizesType>(data.size());
  return make_tensor_ptr<T>({size}, std::move(data));
}

// Makes an input of Module::forward() from a tensor or number. A null pointer becomes None.
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
