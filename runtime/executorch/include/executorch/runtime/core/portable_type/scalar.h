#pragma once

#include <cstdint>
#include <type_traits>

#include "executorch/runtime/core/portable_type/scalar_type.h"
#include "executorch/runtime/platform/assert.h"
#include "rushlight/core/scalar.h"

namespace executorch {
namespace runtime {
namespace etensor {

// A number argument of an operator, with the interface of ExecuTorch's class.
class Scalar : public ::rushlight::Scalar {
 public:
  Scalar() : ::rushlight::Scalar(0) {}
  Scalar(const ::rushlight::Scalar& value) : ::rushlight::Scalar(value) {}  // NOLINT
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Scalar(T value) : ::rushlight::Scalar(widen(value)) {}                       // NOLINT
  Scalar(Half value) : ::rushlight::Scalar(static_cast<double>(value)) {}      // NOLINT
  Scalar(BFloat16 value) : ::rushlight::Scalar(static_cast<double>(value)) {}  // NOLINT

  bool isIntegral(bool includeBool) const { return is_int() || (includeBool && is_bool()); }
  bool isFloatingPoint() const { return is_double(); }
  bool isBoolean() const { return is_bool(); }
  double toDouble() const { return to<double>(); }
  float toFloat() const { return to<float>(); }
  int32_t toInt() const { return to<int32_t>(); }
  int64_t toLong() const { return to<int64_t>(); }
  bool toBool() const { return to<double>() != 0; }

 private:
  template <typename T>
  static auto widen(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      return value;
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<double>(value);
    } else {
      return static_cast<int64_t>(value);
    }
  }
};

}  // namespace etensor
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::etensor::Scalar;
}  // namespace executor
}  // namespace torch
