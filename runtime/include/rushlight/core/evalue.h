#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "rushlight/core/scalar.h"
#include "rushlight/core/span.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// The type of a value.
enum class Tag : uint8_t {
  None,
  Tensor,
  Int,
  Double,
  Bool,
  String,
  IntList,
  DoubleList,
  BoolList,
  TensorList,
  OptionalTensorList,
};

// Returns the name of a tag, for example "Tensor".
const char* to_string(Tag tag) noexcept;

class EValue;

// A list whose items are values of the method. read() copies the present values into `items` and returns a view of
// these. Two threads must not read one list at the same time.
template <typename T>
struct BoxedList {
  EValue* const* values;  // [size]
  T* items;               // [size]
  uint32_t size;
  Span<T> read() const;
};
template <>
Span<int64_t> BoxedList<int64_t>::read() const;
template <>
Span<Tensor> BoxedList<Tensor>::read() const;
template <>
Span<std::optional<Tensor>> BoxedList<std::optional<Tensor>>::read() const;

// One value of a method: a tag and 8 bytes. A value does not own the tensor, text or list that it points to.
class EValue {
 public:
  EValue() { payload_.i = 0; }
  explicit EValue(TensorImpl* tensor) : tag_(Tag::Tensor) { payload_.tensor = tensor; }
  explicit EValue(const Tensor& tensor) : EValue(tensor.impl()) {}
  explicit EValue(int64_t value) : tag_(Tag::Int) { payload_.i = value; }
  explicit EValue(double value) : tag_(Tag::Double) { payload_.d = value; }
  explicit EValue(bool value) : tag_(Tag::Bool) { payload_.i = value; }
  explicit EValue(const std::string_view* text) : tag_(Tag::String) { payload_.string = text; }
  explicit EValue(const BoxedList<int64_t>* list) : tag_(Tag::IntList) { payload_.ints = list; }
  explicit EValue(const Span<const double>* list) : tag_(Tag::DoubleList) { payload_.doubles = list; }
  explicit EValue(const Span<const bool>* list) : tag_(Tag::BoolList) { payload_.bools = list; }
  explicit EValue(const BoxedList<Tensor>* list) : tag_(Tag::TensorList) { payload_.tensors = list; }
  explicit EValue(const BoxedList<std::optional<Tensor>>* list) : tag_(Tag::OptionalTensorList) {
    payload_.optional_tensors = list;
  }

  Tag tag() const { return tag_; }
  bool is_none() const { return tag_ == Tag::None; }
  bool is_tensor() const { return tag_ == Tag::Tensor; }
  bool is_scalar() const { return tag_ == Tag::Int || tag_ == Tag::Double || tag_ == Tag::Bool; }

  // Each of these functions may be called only if the tag has the same type.
  Tensor to_tensor() const { return Tensor(payload_.tensor); }
  int64_t to_int() const { return payload_.i; }
  double to_double() const { return payload_.d; }
  bool to_bool() const { return payload_.i != 0; }
  std::string_view to_string_view() const { return *payload_.string; }
  Span<const int64_t> to_int_list() const { return payload_.ints->read(); }
  Span<const double> to_double_list() const { return *payload_.doubles; }
  Span<const bool> to_bool_list() const { return *payload_.bools; }
  Span<Tensor> to_tensor_list() const { return payload_.tensors->read(); }
  Span<std::optional<Tensor>> to_optional_tensor_list() const { return payload_.optional_tensors->read(); }
  const BoxedList<int64_t>* int_list() const { return payload_.ints; }
  const BoxedList<Tensor>* tensor_list() const { return payload_.tensors; }
  const BoxedList<std::optional<Tensor>>* optional_tensor_list() const { return payload_.optional_tensors; }
  Scalar to_scalar() const {
    if (tag_ == Tag::Double) return Scalar(payload_.d);
    if (tag_ == Tag::Bool) return Scalar(payload_.i != 0);
    return Scalar(payload_.i);
  }

 private:
  union {
    TensorImpl* tensor;
    int64_t i;
    double d;
    const std::string_view* string;
    const BoxedList<int64_t>* ints;
    const Span<const double>* doubles;
    const Span<const bool>* bools;
    const BoxedList<Tensor>* tensors;
    const BoxedList<std::optional<Tensor>>* optional_tensors;
  } payload_;
  Tag tag_ = Tag::None;
};

template <>
inline Span<int64_t> BoxedList<int64_t>::read() const {
  for (uint32_t i = 0; i < size; ++i) items[i] = values[i]->to_int();
  return {items, size};
}
template <>
inline Span<Tensor> BoxedList<Tensor>::read() const {
  for (uint32_t i = 0; i < size; ++i) items[i] = values[i]->to_tensor();
  return {items, size};
}
template <>
inline Span<std::optional<Tensor>> BoxedList<std::optional<Tensor>>::read() const {
  for (uint32_t i = 0; i < size; ++i) {
    items[i] = values[i] && values[i]->is_tensor() ? std::optional<Tensor>(values[i]->to_tensor()) : std::nullopt;
  }
  return {items, size};
}

}  // namespace rushlight
