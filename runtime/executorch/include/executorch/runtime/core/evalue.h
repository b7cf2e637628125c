#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "executorch/runtime/core/exec_aten/exec_aten.h"
#include "executorch/runtime/core/result.h"
#include "executorch/runtime/core/tag.h"
#include "executorch/runtime/platform/assert.h"
#include "rushlight/core/evalue.h"

namespace executorch {
namespace runtime {

struct EValue;

// A list whose items are values, with memory for their contents. get() copies the current contents to this memory.
template <typename T>
class BoxedEvalueList : public ::rushlight::BoxedList<T> {
 public:
  BoxedEvalueList() : ::rushlight::BoxedList<T>{nullptr, nullptr, 0} {}
  // Both arrays have `size` elements and outlive the list.
  BoxedEvalueList(EValue** wrapped_vals, T* unwrapped_vals, int size);
  ArrayRef<T> get() const { return this->read(); }
  // Returns InvalidState if an item is null, and InvalidType if an item has another type.
  Result<ArrayRef<T>> tryGet() const;
};

// One value of a method, with the interface of ExecuTorch's class and the layout of the runtime's class. If the value
// has another type, a toX() function ends the process, and a tryToX() function returns InvalidType.
struct EValue : public ::rushlight::EValue {
  EValue() = default;
  EValue(const ::rushlight::EValue& value) : ::rushlight::EValue(value) {}                            // NOLINT
  EValue(int64_t value) : ::rushlight::EValue(value) {}                                               // NOLINT
  EValue(int value) : ::rushlight::EValue(static_cast<int64_t>(value)) {}                             // NOLINT
  EValue(double value) : ::rushlight::EValue(value) {}                                                // NOLINT
  EValue(bool value) : ::rushlight::EValue(value) {}                                                  // NOLINT
  EValue(const aten::Tensor& tensor) : ::rushlight::EValue(tensor) {}                                 // NOLINT
  EValue(const aten::Scalar& scalar) : ::rushlight::EValue(of_scalar(scalar)) {}                      // NOLINT
  EValue(const std::string_view* text) : ::rushlight::EValue(text) {}                                 // NOLINT
  EValue(BoxedEvalueList<int64_t>* list) : ::rushlight::EValue(checked(list)) {}                      // NOLINT
  EValue(ArrayRef<double>* list) : ::rushlight::EValue(checked(list)) {}                              // NOLINT
  EValue(ArrayRef<bool>* list) : ::rushlight::EValue(checked(list)) {}                                // NOLINT
  EValue(BoxedEvalueList<aten::Tensor>* list) : ::rushlight::EValue(checked(list)) {}                 // NOLINT
  EValue(BoxedEvalueList<std::optional<aten::Tensor>>* list) : ::rushlight::EValue(checked(list)) {}  // NOLINT
  // Converts a smart pointer, such as TensorPtr, whose object converts to a value. The pointer must not be null.
  template <typename T, typename = std::enable_if_t<!std::is_pointer_v<std::decay_t<T>> &&
                                                    std::is_convertible_v<decltype(*std::declval<T>()), EValue>>>
  EValue(T&& pointer) : EValue(pointed(pointer)) {}  // NOLINT
  template <typename T>
  explicit EValue(T* value) = delete;

  bool isNone() const { return tag == Tag::None; }
  bool isInt() const { return tag == Tag::Int; }
  bool isDouble() const { return tag == Tag::Double; }
  bool isBool() const { return tag == Tag::Bool; }
  bool isScalar() const { return is_scalar(); }
  bool isTensor() const { return tag == Tag::Tensor; }
  bool isString() const { return tag == Tag::String; }
  bool isIntList() const { return tag == Tag::ListInt; }
  bool isDoubleList() const { return tag == Tag::ListDouble; }
  bool isBoolList() const { return tag == Tag::ListBool; }
  bool isTensorList() const { return tag == Tag::ListTensor; }
  bool isListOptionalTensor() const { return tag == Tag::ListOptionalTensor; }

  int64_t toInt() const { return check(Tag::Int).to_int(); }
  double toDouble() const { return check(Tag::Double).to_double(); }
  bool toBool() const { return check(Tag::Bool).to_bool(); }
  aten::Scalar toScalar() const {
    ET_CHECK_MSG(isScalar(), "the value is a %s, not a number", tag_to_string(tag));
    return to_scalar();
  }
  aten::Tensor toTensor() && { return check(Tag::Tensor).to_tensor(); }
  aten::Tensor& toTensor() & { return check(Tag::Tensor), payload_.tensor; }
  const aten::Tensor& toTensor() const& { return check(Tag::Tensor), payload_.tensor; }
  std::string_view toString() const { return check(Tag::String).to_string_view(); }
  ArrayRef<int64_t> toIntList() const { return check(Tag::ListInt).to_int_list(); }
  ArrayRef<double> toDoubleList() const { return check(Tag::ListDouble).to_double_list(); }
  ArrayRef<bool> toBoolList() const { return check(Tag::ListBool).to_bool_list(); }
  ArrayRef<aten::Tensor> toTensorList() const { return check(Tag::ListTensor).to_tensor_list(); }
  ArrayRef<std::optional<aten::Tensor>> toListOptionalTensor() const {
    return check(Tag::ListOptionalTensor).to_optional_tensor_list();
  }
  aten::ScalarType toScalarType() const { return static_cast<aten::ScalarType>(toInt()); }
  aten::MemoryFormat toMemoryFormat() const { return static_cast<aten::MemoryFormat>(toInt()); }
  aten::Layout toLayout() const { return static_cast<aten::Layout>(toInt()); }
  aten::Device toDevice() const { return aten::Device(static_cast<aten::DeviceType>(toInt()), -1); }

  Result<int64_t> tryToInt() const { return tryTo<int64_t>(); }
  Result<double> tryToDouble() const { return tryTo<double>(); }
  Result<bool> tryToBool() const { return tryTo<bool>(); }
  Result<aten::Scalar> tryToScalar() const { return tryTo<aten::Scalar>(); }
  Result<aten::Tensor> tryToTensor() const { return tryTo<aten::Tensor>(); }
  Result<std::string_view> tryToString() const { return tryTo<std::string_view>(); }
  Result<ArrayRef<int64_t>> tryToIntList() const { return tryTo<ArrayRef<int64_t>>(); }
  Result<ArrayRef<double>> tryToDoubleList() const { return tryTo<ArrayRef<double>>(); }
  Result<ArrayRef<bool>> tryToBoolList() const { return tryTo<ArrayRef<bool>>(); }
  Result<ArrayRef<aten::Tensor>> tryToTensorList() const { return tryTo<ArrayRef<aten::Tensor>>(); }
  Result<ArrayRef<std::optional<aten::Tensor>>> tryToListOptionalTensor() const {
    return tryTo<ArrayRef<std::optional<aten::Tensor>>>();
  }
  Result<aten::ScalarType> tryToScalarType() const { return tryTo<aten::ScalarType>(); }
  Result<aten::MemoryFormat> tryToMemoryFormat() const { return tryTo<aten::MemoryFormat>(); }
  Result<aten::Layout> tryToLayout() const { return tryTo<aten::Layout>(); }
  Result<aten::Device> tryToDevice() const { return tryTo<aten::Device>(); }

  // Converts to T: int64_t, double, bool, Scalar, Tensor, string_view, ArrayRef<...>, optional<...>, ScalarType, ...
  template <typename T>
  decltype(auto) to() & {
    if constexpr (std::is_same_v<T, aten::Tensor>) {
      return toTensor();
    } else {
      return static_cast<T>(as<T>());
    }
  }
  template <typename T>
  decltype(auto) to() const& {
    if constexpr (std::is_same_v<T, aten::Tensor>) {
      return toTensor();
    } else {
      return static_cast<T>(as<T>());
    }
  }
  template <typename T>
  T to() && {
    return as<T>();
  }
  template <typename T>
  Result<T> tryTo() const {
    if constexpr (IsOptional<T>::value) {
      return tryToOptional<typename T::value_type>();
    } else {
      if (!has<T>()) return Error::InvalidType;
      return as<T>();
    }
  }
  template <typename T>
  std::optional<T> toOptional() const {
    return isNone() ? std::nullopt : std::optional<T>(as<T>());
  }
  template <typename T>
  Result<std::optional<T>> tryToOptional() const {
    if (isNone()) return std::optional<T>();
    if (!has<T>()) return Error::InvalidType;
    return std::optional<T>(as<T>());
  }

 private:
  template <typename T>
  struct IsOptional : std::false_type {};
  template <typename T>
  struct IsOptional<std::optional<T>> : std::true_type {};
  template <typename T>
  struct Never : std::false_type {};

  const EValue& check(Tag expected) const {
    ET_CHECK_MSG(tag == expected, "the value is a %s, not a %s", tag_to_string(tag), tag_to_string(expected));
    return *this;
  }
  template <typename T>
  static const T* checked(const T* pointer) {
    ET_CHECK_MSG(pointer != nullptr, "a value cannot be made of a null pointer");
    return pointer;
  }
  template <typename T>
  static auto&& pointed(const T& pointer) {
    ET_CHECK_MSG(pointer != nullptr, "a value cannot be made of a null pointer");
    return *pointer;
  }
  static ::rushlight::EValue of_scalar(const aten::Scalar& scalar) {
    if (scalar.isFloatingPoint()) return ::rushlight::EValue(scalar.to<double>());
    if (scalar.isBoolean()) return ::rushlight::EValue(scalar.to<bool>());
    return ::rushlight::EValue(scalar.to<int64_t>());
  }
  // Whether the value can be read as T.
  template <typename T>
  bool has() const {
    if constexpr (std::is_same_v<T, double>) {
      return isDouble();
    } else if constexpr (std::is_same_v<T, bool>) {
      return isBool();
    } else if constexpr (std::is_same_v<T, aten::Scalar>) {
      return isScalar();
    } else if constexpr (std::is_same_v<T, aten::Tensor>) {
      return isTensor();
    } else if constexpr (std::is_same_v<T, std::string_view>) {
      return isString();
    } else if constexpr (std::is_same_v<T, ArrayRef<int64_t>>) {
      return isIntList();
    } else if constexpr (std::is_same_v<T, ArrayRef<double>>) {
      return isDoubleList();
    } else if constexpr (std::is_same_v<T, ArrayRef<bool>>) {
      return isBoolList();
    } else if constexpr (std::is_same_v<T, ArrayRef<aten::Tensor>>) {
      return isTensorList();
    } else if constexpr (std::is_same_v<T, ArrayRef<std::optional<aten::Tensor>>>) {
      return isListOptionalTensor();
    } else {
      return isInt();
    }
  }
  template <typename T>
  T as() const {
    if constexpr (IsOptional<T>::value) {
      return toOptional<typename T::value_type>();
    } else if constexpr (std::is_same_v<T, int64_t>) {
      return toInt();
    } else if constexpr (std::is_same_v<T, double>) {
      return toDouble();
    } else if constexpr (std::is_same_v<T, bool>) {
      return toBool();
    } else if constexpr (std::is_same_v<T, aten::Scalar>) {
      return toScalar();
    } else if constexpr (std::is_same_v<T, aten::Tensor>) {
      return toTensor();
    } else if constexpr (std::is_same_v<T, std::string_view>) {
      return toString();
    } else if constexpr (std::is_same_v<T, ArrayRef<int64_t>>) {
      return toIntList();
    } else if constexpr (std::is_same_v<T, ArrayRef<double>>) {
      return toDoubleList();
    } else if constexpr (std::is_same_v<T, ArrayRef<bool>>) {
      return toBoolList();
    } else if constexpr (std::is_same_v<T, ArrayRef<aten::Tensor>>) {
      return toTensorList();
    } else if constexpr (std::is_same_v<T, ArrayRef<std::optional<aten::Tensor>>>) {
      return toListOptionalTensor();
    } else if constexpr (std::is_same_v<T, aten::ScalarType>) {
      return toScalarType();
    } else if constexpr (std::is_same_v<T, aten::MemoryFormat>) {
      return toMemoryFormat();
    } else if constexpr (std::is_same_v<T, aten::Layout>) {
      return toLayout();
    } else if constexpr (std::is_same_v<T, aten::Device>) {
      return toDevice();
    } else {
      static_assert(Never<T>::value, "an EValue cannot be read as this type");
    }
  }
};
static_assert(sizeof(EValue) == sizeof(::rushlight::EValue), "arrays of both classes have the same layout");

template <typename T>
BoxedEvalueList<T>::BoxedEvalueList(EValue** wrapped_vals, T* unwrapped_vals, int size)
    : ::rushlight::BoxedList<T>{reinterpret_cast<::rushlight::EValue* const*>(wrapped_vals), unwrapped_vals,
                                static_cast<uint32_t>(size)} {
  ET_CHECK_MSG(wrapped_vals != nullptr && unwrapped_vals != nullptr && size >= 0,
               "the constructor of a list needs two arrays");
}

template <typename T>
Result<ArrayRef<T>> BoxedEvalueList<T>::tryGet() const {
  for (uint32_t i = 0; i < this->size; ++i) {
    const auto* value = static_cast<const EValue*>(this->values[i]);
    if constexpr (std::is_same_v<T, std::optional<aten::Tensor>>) {
      if (value && !value->isNone() && !value->isTensor()) return Error::InvalidType;
    } else {
      if (!value) return Error::InvalidState;
      if (!value->tryTo<T>().ok()) return Error::InvalidType;
    }
  }
  return get();
}

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::BoxedEvalueList;
using ::executorch::runtime::EValue;
}  // namespace executor
}  // namespace torch
