#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "rushlight/core/scalar.h"
#include "rushlight/core/span.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// The type of a value. The numbers are equal to the tags of the ExecuTorch runtime.
enum class Tag : uint32_t {
  None,
  Tensor,
  String,
  Double,
  Int,
  Bool,
  ListBool,
  ListDouble,
  ListInt,
  ListTensor,
  ListScalar,  // no program contains it
  ListOptionalTensor,
};

// Returns the name of a tag, for example "Tensor".
[[gnu::const]] const char* to_string(Tag tag) noexcept;

class EValue;

// A list whose items are values of the method. read() copies the current values into `items` and returns a view of
// `items`. Two threads must not read one list at the same time.
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
  Tag tag = Tag::None;

  EValue() = default;
  explicit EValue(TensorImpl* tensor) : EValue(Tensor(tensor)) {}
  explicit EValue(const Tensor& tensor) : tag(Tag::Tensor) { payload_.tensor = tensor; }
  explicit EValue(int64_t value) : tag(Tag::Int) { payload_.i = value; }
  explicit EValue(double value) : tag(Tag::Double) { payload_.d = value; }
  explicit EValue(bool value) : tag(Tag::Bool) { payload_.i = value; }
  explicit EValue(const std::string_view* text) : tag(Tag::String) { payload_.string = text; }
  explicit EValue(const BoxedList<int64_t>* list) : tag(Tag::ListInt) { payload_.ints = list; }
  explicit EValue(const Span<const double>* list) : tag(Tag::ListDouble) { payload_.doubles = list; }
  explicit EValue(const Span<const bool>* list) : tag(Tag::ListBool) { payload_.bools = list; }
  explicit EValue(const BoxedList<Tensor>* list) : tag(Tag::ListTensor) { payload_.tensors = list; }
  explicit EValue(const BoxedList<std::optional<Tensor>>* list) : tag(Tag::ListOptionalTensor) {
    payload_.optional_tensors = list;
  }

  bool is_none() const { return tag == Tag::None; }
  bool is_tensor() const { return tag == Tag::Tensor; }
  bool is_scalar() const { return tag == Tag::Int || tag == Tag::Double || tag == Tag::Bool; }

  // A to_...() function may be called only if the tag is of the type that the function returns.
  Tensor to_tensor() const { return payload_.tensor; }
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
    if (tag == Tag::Double) return Scalar(payload_.d);
    if (tag == Tag::Bool) return Scalar(payload_.i != 0);
    return Scalar(payload_.i);
  }

 protected:
  union Payload {
    Payload() : i(0) {}
    Tensor tensor;
    int64_t i;
    double d;
    const std::string_view* string;
    const BoxedList<int64_t>* ints;
    const Span<const double>* doubles;
    const Span<const bool>* bools;
    const BoxedList<Tensor>* tensors;
    const BoxedList<std::optional<Tensor>>* optional_tensors;
  } payload_;
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
