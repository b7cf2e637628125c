#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "rushlight/core/device.h"
#include "rushlight/core/error.h"
#include "rushlight/core/evalue.h"
#include "rushlight/core/scalar.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// A tensor that owns its shape, and also its elements unless it was made over memory of the caller. Applications pass
// it to methods. The functions have the names and arguments of ExecuTorch's extension/tensor. They return null if the
// shape is invalid or the number of elements does not fit it; last_error_message() then gives the reason.
//
// Tensors are dense. `dim_order` lists the dimensions from outermost to innermost: {0, 2, 3, 1} means channels last.
// `strides`, in elements, must be the strides of a dense tensor in some dim order. Empty lists mean a contiguous
// tensor. Unless it is STATIC, a tensor may shrink, and grow again up to its first sizes.
using TensorPtr = std::shared_ptr<Tensor>;

// Makes a tensor over the elements at `data`. The caller owns the elements, which must outlive the tensor. If there is
// a `deleter`, deleter(data) is called when the tensor is destroyed, or at once if this function fails.
TensorPtr make_tensor_ptr(std::vector<SizesType> sizes, void* data, std::vector<DimOrderType> dim_order,
                          std::vector<StridesType> strides, ScalarType type = ScalarType::Float,
                          Device device = DeviceType::CPU, ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND,
                          std::function<void(void*)> deleter = nullptr);
inline TensorPtr make_tensor_ptr(std::vector<SizesType> sizes, void* data, ScalarType type = ScalarType::Float,
                                 Device device = DeviceType::CPU, ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND,
                                 std::function<void(void*)> deleter = nullptr) {
  return make_tensor_ptr(std::move(sizes), data, {}, {}, type, device, dynamism, std::move(deleter));
}

namespace detail {

// Makes a tensor over `count` elements of type `from` at `data`, which `owner` keeps alive. If `type` is another dtype,
// the tensor owns the converted elements.
TensorPtr make_converted(std::vector<SizesType> sizes, void* data, size_t count, std::shared_ptr<void> owner,
                         std::vector<DimOrderType> dim_order, std::vector<StridesType> strides, ScalarType from,
                         ScalarType type, ShapeDynamism dynamism);

}  // namespace detail

// Makes a tensor that owns the elements of `data`, converted to `type`. Returns null if the conversion is not allowed:
// from a float to an integer, or from a number to a bool.
template <typename T = float, ScalarType own_type = ScalarTypeOf<T>::value>
TensorPtr make_tensor_ptr(std::vector<SizesType> sizes, std::vector<T> data, std::vector<DimOrderType> dim_order = {},
                          std::vector<StridesType> strides = {}, ScalarType type = own_type,
                          ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND) {
  static_assert(!std::is_same_v<T, bool>,
                "std::vector<bool> does not store bool elements: use full(), or a vector of uint8_t");
  auto owner = std::make_shared<std::vector<T>>(std::move(data));
  return detail::make_converted(std::move(sizes), owner->data(), owner->size(), owner, std::move(dim_order),
                                std::move(strides), own_type, type, dynamism);
}
// Makes a tensor of one dimension.
template <typename T = float, ScalarType own_type = ScalarTypeOf<T>::value>
TensorPtr make_tensor_ptr(std::vector<T> data, ScalarType type = own_type,
                          ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND) {
  std::vector<SizesType> sizes{static_cast<SizesType>(data.size())};
  return make_tensor_ptr<T>(std::move(sizes), std::move(data), {}, {}, type, dynamism);
}
template <typename T = float, ScalarType own_type = ScalarTypeOf<T>::value>
TensorPtr make_tensor_ptr(std::vector<SizesType> sizes, std::initializer_list<T> list,
                          std::vector<DimOrderType> dim_order = {}, std::vector<StridesType> strides = {},
                          ScalarType type = own_type, ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND) {
  if constexpr (std::is_same_v<T, bool>) {
    auto owner = std::shared_ptr<bool[]>(new bool[list.size() + 1]);
    size_t count = 0;
    for (const bool item : list) owner[count++] = item;
    return detail::make_converted(std::move(sizes), owner.get(), count, std::shared_ptr<void>(owner, owner.get()),
                                  std::move(dim_order), std::move(strides), own_type, type, dynamism);
  } else {
    return make_tensor_ptr<T>(std::move(sizes), std::vector<T>(list), std::move(dim_order), std::move(strides), type,
                              dynamism);
  }
}
template <typename T = float, ScalarType own_type = ScalarTypeOf<T>::value>
TensorPtr make_tensor_ptr(std::initializer_list<T> list, ScalarType type = own_type,
                          ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND) {
  return make_tensor_ptr<T>(std::vector<SizesType>{static_cast<SizesType>(list.size())}, list, {}, {}, type, dynamism);
}
// Makes a tensor without dimensions.
template <typename T, typename = std::void_t<decltype(ScalarTypeOf<T>::value)>>
TensorPtr make_tensor_ptr(T value) {
  return make_tensor_ptr<T>(std::vector<SizesType>{}, std::initializer_list<T>{value});
}
// Makes a tensor of dtype `type`. `data` are the bytes of its elements.
TensorPtr make_tensor_ptr(std::vector<SizesType> sizes, std::vector<uint8_t> data, std::vector<DimOrderType> dim_order,
                          std::vector<StridesType> strides, ScalarType type,
                          ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND);
inline TensorPtr make_tensor_ptr(std::vector<SizesType> sizes, std::vector<uint8_t> data, ScalarType type,
                                 ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND) {
  return make_tensor_ptr(std::move(sizes), std::move(data), {}, {}, type, dynamism);
}
// Makes a view of a tensor, with the same shape or another shape of at most the same number of elements. In the first
// function, the memory must outlive the view; `deleter` may own it. In the second one, the view keeps the tensor alive.
TensorPtr make_tensor_ptr(const Tensor& tensor, std::vector<SizesType> sizes = {},
                          std::vector<DimOrderType> dim_order = {}, std::vector<StridesType> strides = {},
                          std::function<void(void*)> deleter = nullptr);
TensorPtr make_tensor_ptr(const TensorPtr& tensor, std::vector<SizesType> sizes = {},
                          std::vector<DimOrderType> dim_order = {}, std::vector<StridesType> strides = {});

// Makes a tensor over `data` step by step: for_blob(data, {2, 3}).type(ScalarType::Int).make_tensor_ptr().
class TensorPtrMaker final {
 public:
  TensorPtrMaker(const TensorPtrMaker&) = delete;
  TensorPtrMaker& operator=(const TensorPtrMaker&) = delete;
  TensorPtrMaker(TensorPtrMaker&&) = default;
  TensorPtrMaker& operator=(TensorPtrMaker&&) = default;

  TensorPtrMaker&& type(ScalarType type) { return type_ = type, std::move(*this); }
  TensorPtrMaker&& dim_order(std::vector<DimOrderType> order) { return order_ = std::move(order), std::move(*this); }
  TensorPtrMaker&& strides(std::vector<StridesType> strides) { return strides_ = std::move(strides), std::move(*this); }
  TensorPtrMaker&& dynamism(ShapeDynamism dynamism) { return dynamism_ = dynamism, std::move(*this); }
  TensorPtrMaker&& deleter(std::function<void(void*)>&& deleter) {
    return deleter_ = std::move(deleter), std::move(*this);
  }
  TensorPtrMaker&& device(Device device) { return device_ = device, std::move(*this); }
  TensorPtr make_tensor_ptr() && {
    return rushlight::make_tensor_ptr(std::move(sizes_), data_, std::move(order_), std::move(strides_), type_, device_,
                                      dynamism_, std::move(deleter_));
  }
  operator TensorPtr() && { return std::move(*this).make_tensor_ptr(); }  // NOLINT

 private:
  friend TensorPtrMaker for_blob(void* data, std::vector<SizesType> sizes, ScalarType type);
  TensorPtrMaker(void* data, std::vector<SizesType> sizes, ScalarType type)
      : data_(data), sizes_(std::move(sizes)), type_(type) {}
  void* data_;
  std::vector<SizesType> sizes_;
  std::vector<DimOrderType> order_;
  std::vector<StridesType> strides_;
  ScalarType type_;
  Device device_;
  ShapeDynamism dynamism_ = ShapeDynamism::DYNAMIC_BOUND;
  std::function<void(void*)> deleter_;
};
TensorPtrMaker for_blob(void* data, std::vector<SizesType> sizes, ScalarType type = ScalarType::Float);

// Make a tensor over the elements at `data`. Without a deleter, the caller owns the elements, which must outlive the
// tensor; otherwise deleter(data) frees them.
TensorPtr from_blob(void* data, std::vector<SizesType> sizes, ScalarType type = ScalarType::Float,
                    Device device = DeviceType::CPU, ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND);
TensorPtr from_blob(void* data, std::vector<SizesType> sizes, std::vector<StridesType> strides,
                    ScalarType type = ScalarType::Float, Device device = DeviceType::CPU,
                    ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND);
TensorPtr from_blob(void* data, std::vector<SizesType> sizes, ScalarType type, std::function<void(void*)>&& deleter,
                    ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND);
TensorPtr from_blob(void* data, std::vector<SizesType> sizes, ScalarType type, Device device,
                    std::function<void(void*)>&& deleter, ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND);
TensorPtr from_blob(void* data, std::vector<SizesType> sizes, std::vector<StridesType> strides, ScalarType type,
                    std::function<void(void*)>&& deleter, ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND);
TensorPtr from_blob(void* data, std::vector<SizesType> sizes, std::vector<StridesType> strides, ScalarType type,
                    Device device, std::function<void(void*)>&& deleter,
                    ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND);

// The functions below make tensors that own their elements. empty() does not initialize the elements. full(), zeros()
// and ones() set all elements to one number, which is converted to the dtype by the rules of ATen. rand() is uniform in
// [0, 1), randn() is normal, and randint() makes integers in [low, high). The dtype must not be complex. Functions
// named ..._strided also have an argument for the strides. Functions named ..._like use the shape of another tensor,
// and its dtype if the caller gives no dtype.
TensorPtr empty_strided(std::vector<SizesType> sizes, std::vector<StridesType> strides,
                        ScalarType type = ScalarType::Float, ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND);
TensorPtr full_strided(std::vector<SizesType> sizes, std::vector<StridesType> strides, const Scalar& fill_value,
                       ScalarType type = ScalarType::Float, ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND);
TensorPtr rand_strided(std::vector<SizesType> sizes, std::vector<StridesType> strides,
                       ScalarType type = ScalarType::Float, ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND);
TensorPtr randn_strided(std::vector<SizesType> sizes, std::vector<StridesType> strides,
                        ScalarType type = ScalarType::Float, ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND);
TensorPtr randint_strided(int64_t low, int64_t high, std::vector<SizesType> sizes, std::vector<StridesType> strides,
                          ScalarType type = ScalarType::Int, ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND);

inline TensorPtr empty(std::vector<SizesType> sizes, ScalarType type = ScalarType::Float,
                       ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND) {
  return empty_strided(std::move(sizes), {}, type, dynamism);
}
inline TensorPtr full(std::vector<SizesType> sizes, const Scalar& fill_value, ScalarType type = ScalarType::Float,
                      ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND) {
  return full_strided(std::move(sizes), {}, fill_value, type, dynamism);
}
inline TensorPtr scalar_tensor(const Scalar& value, ScalarType type = ScalarType::Float) {
  return full({}, value, type);
}
inline TensorPtr zeros(std::vector<SizesType> sizes, ScalarType type = ScalarType::Float,
                       ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND) {
  return full(std::move(sizes), 0, type, dynamism);
}
inline TensorPtr ones(std::vector<SizesType> sizes, ScalarType type = ScalarType::Float,
                      ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND) {
  return full(std::move(sizes), 1, type, dynamism);
}
inline TensorPtr rand(std::vector<SizesType> sizes, ScalarType type = ScalarType::Float,
                      ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND) {
  return rand_strided(std::move(sizes), {}, type, dynamism);
}
inline TensorPtr randn(std::vector<SizesType> sizes, ScalarType type = ScalarType::Float,
                       ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND) {
  return randn_strided(std::move(sizes), {}, type, dynamism);
}
inline TensorPtr randint(int64_t low, int64_t high, std::vector<SizesType> sizes, ScalarType type = ScalarType::Int,
                         ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND) {
  return randint_strided(low, high, std::move(sizes), {}, type, dynamism);
}

namespace detail {

inline std::vector<SizesType> sizes_of(const TensorPtr& tensor) {
  return {tensor->sizes().begin(), tensor->sizes().end()};
}
inline std::vector<StridesType> strides_of(const TensorPtr& tensor) {
  return {tensor->strides().begin(), tensor->strides().end()};
}

}  // namespace detail

inline TensorPtr empty_like(const TensorPtr& other, ScalarType type,
                            ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND) {
  return empty_strided(detail::sizes_of(other), detail::strides_of(other), type, dynamism);
}
inline TensorPtr empty_like(const TensorPtr& other) { return empty_like(other, other->scalar_type()); }
inline TensorPtr full_like(const TensorPtr& other, const Scalar& fill_value, ScalarType type,
                           ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND) {
  return full_strided(detail::sizes_of(other), detail::strides_of(other), fill_value, type, dynamism);
}
inline TensorPtr full_like(const TensorPtr& other, const Scalar& fill_value) {
  return full_like(other, fill_value, other->scalar_type());
}
inline TensorPtr zeros_like(const TensorPtr& other, ScalarType type,
                            ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND) {
  return full_like(other, 0, type, dynamism);
}
inline TensorPtr zeros_like(const TensorPtr& other) { return zeros_like(other, other->scalar_type()); }
inline TensorPtr ones_like(const TensorPtr& other, ScalarType type,
                           ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND) {
  return full_like(other, 1, type, dynamism);
}
inline TensorPtr ones_like(const TensorPtr& other) { return ones_like(other, other->scalar_type()); }
inline TensorPtr rand_like(const TensorPtr& other, ScalarType type,
                           ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND) {
  return rand_strided(detail::sizes_of(other), detail::strides_of(other), type, dynamism);
}
inline TensorPtr rand_like(const TensorPtr& other) { return rand_like(other, other->scalar_type()); }
inline TensorPtr randn_like(const TensorPtr& other, ScalarType type,
                            ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND) {
  return randn_strided(detail::sizes_of(other), detail::strides_of(other), type, dynamism);
}
inline TensorPtr randn_like(const TensorPtr& other) { return randn_like(other, other->scalar_type()); }
inline TensorPtr randint_like(const TensorPtr& other, int64_t low, int64_t high, ScalarType type,
                              ShapeDynamism dynamism = ShapeDynamism::DYNAMIC_BOUND) {
  return randint_strided(low, high, detail::sizes_of(other), detail::strides_of(other), type, dynamism);
}
inline TensorPtr randint_like(const TensorPtr& other, int64_t low, int64_t high) {
  return randint_like(other, low, high, other->scalar_type());
}

// Makes a copy that owns its elements, converted to another dtype if one is given.
TensorPtr clone_tensor_ptr(const Tensor& tensor, ScalarType type);
inline TensorPtr clone_tensor_ptr(const Tensor& tensor) { return clone_tensor_ptr(tensor, tensor.scalar_type()); }
inline TensorPtr clone_tensor_ptr(const TensorPtr& tensor, ScalarType type) { return clone_tensor_ptr(*tensor, type); }
inline TensorPtr clone_tensor_ptr(const TensorPtr& tensor) { return clone_tensor_ptr(*tensor); }

// Sets the shape of a tensor; see resize_tensor().
Error resize_tensor_ptr(TensorPtr& tensor, const std::vector<SizesType>& sizes);

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
