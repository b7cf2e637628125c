#pragma once

#include "rushlight/core/scalar.h"
#include "rushlight/core/scalar_type.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// Returns torch.promote_types() of two dtypes.
ScalarType promote_types(ScalarType a, ScalarType b);

// Returns torch.can_cast(): whether a result of dtype `from` may be written into a tensor of dtype `to`.
bool can_cast(ScalarType from, ScalarType to);

// Returns the dtype of the result of a floating-point function: float32 for integers, else the same dtype.
constexpr ScalarType float_result(ScalarType type) {
  return is_floating(type) || is_complex(type) ? type : ScalarType::Float;
}

// Returns the dtype of the real part of a complex dtype, else the same dtype.
constexpr ScalarType real_type(ScalarType type) {
  if (type == ScalarType::ComplexHalf) return ScalarType::Half;
  if (type == ScalarType::ComplexFloat) return ScalarType::Float;
  if (type == ScalarType::ComplexDouble) return ScalarType::Double;
  return type;
}

// Computes torch.result_type() of tensors and numbers. Tensors with dimensions have priority over zero-dim tensors, and
// zero-dim tensors over numbers, unless the operand of lower priority has a higher category (bool < integer < floating
// < complex).
class ResultType {
 public:
  ResultType& with(const Tensor& tensor);
  ResultType& with(const Scalar& number);
  ScalarType get() const;

 private:
  static constexpr ScalarType kNone = static_cast<ScalarType>(-1);
  static void merge(ScalarType& into, ScalarType type);
  // The promoted dtypes of the tensors with dimensions, the zero-dim tensors and the numbers.
  ScalarType tensors_ = kNone, zero_dim_tensors_ = kNone, numbers_ = kNone;
};

ScalarType result_type(const Tensor& a, const Tensor& b);
ScalarType result_type(const Tensor& a, const Scalar& b);
ScalarType result_type(const Tensor& a, const Tensor& b, const Tensor& c);

}  // namespace rushlight
