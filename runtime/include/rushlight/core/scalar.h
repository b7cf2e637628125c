#pragma once

#include <cstdint>

namespace rushlight {

// A number argument of an operator: an integer, a double or a bool.
class Scalar {
 public:
  enum class Kind : uint8_t { Int, Double, Bool };
  Scalar(int64_t value) : kind_(Kind::Int) { value_.i = value; }    // NOLINT
  Scalar(int value) : Scalar(static_cast<int64_t>(value)) {}        // NOLINT
  Scalar(double value) : kind_(Kind::Double) { value_.d = value; }  // NOLINT
  Scalar(bool value) : kind_(Kind::Bool) { value_.i = value; }      // NOLINT

  Kind kind() const { return kind_; }
  bool is_double() const { return kind_ == Kind::Double; }
  bool is_int() const { return kind_ == Kind::Int; }
  bool is_bool() const { return kind_ == Kind::Bool; }

  // Returns the value, converted to T by the rules of C++.
  template <typename T>
  T to() const {
    if (kind_ == Kind::Double) return static_cast<T>(value_.d);
    return static_cast<T>(value_.i);
  }

 private:
  union {
    int64_t i;
    double d;
  } value_;
  Kind kind_;
};

}  // namespace rushlight
