#pragma once

#include "rushlight/core/scalar.h"
#include "rushlight/core/scalar_type.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// torch.promote_types.
ScalarType promote_types(ScalarType a, ScalarType b);

// torch.can_cast: whether a result of type `from` may be written into a tensor of type `to`.
bool can_cast(ScalarType from, ScalarType to);

// The floating type that a function of integers gives: float32; other types are their own.
constexpr ScalarType float_result(ScalarType type) {
  return is_floating(type) || is_complex(type) ? type : ScalarType::Float;
}

// The real type of a complex type's parts; other types are their own.
constexpr ScalarType real_type(ScalarType type) {
  if (type == ScalarType::ComplexHalf) return ScalarType::Half;
  if (type == ScalarType::ComplexFloat) return ScalarType::Float;
  if (type == ScalarType::ComplexDouble) return ScalarType::Double;
  return type;
}

// torch.result_type of tensors and numbers: tensors with dimensions go before zero-dim tensors, and these before
// numbers, unless the later is of a higher category (bool < integer < floating < complex).
class ResultType {
 public:
  ResultType& with(const Tensor& tensor);
  ResultType& with(const Scalar& number);
  ScalarType get() const;

 private:
  static constexpr ScalarType kNone = static_cast<ScalarType>(-1);
  static void merge(ScalarType& into, ScalarType type);
  ScalarType dim_ = kNone, zero_ = kNone, number_ = kNone;
};

ScalarType result_type(const Tensor& a, const Tensor& b);
ScalarType result_type(const Tensor& a, const Scalar& b);
ScalarType result_type(const Tensor& a, const Tensor& b, const Tensor& c);

}  // namespace rushlight
