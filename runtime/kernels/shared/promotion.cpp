#include "kernels/shared/promotion.h"

#include <initializer_list>

namespace rushlight {
namespace {

ScalarType complex_of(ScalarType real) {
  if (real == ScalarType::Half) return ScalarType::ComplexHalf;
  return real == ScalarType::Double ? ScalarType::ComplexDouble : ScalarType::ComplexFloat;
}

ScalarType wider(ScalarType a, ScalarType b) { return element_size(a) >= element_size(b) ? a : b; }

bool is_unsigned_wide(ScalarType type) { return type >= ScalarType::UInt16 && type <= ScalarType::UInt64; }

// Returns the category of a dtype: 0 for bool, 1 for integers, 2 for floating-point and 3 for complex dtypes.
int category(ScalarType type) {
  if (is_complex(type)) return 3;
  if (is_floating(type)) return 2;
  return type == ScalarType::Bool ? 0 : 1;
}

}  // namespace

ScalarType promote_types(ScalarType a, ScalarType b) {
  if (a == b) return a;
  if (category(a) < category(b)) {
    const ScalarType swap = a;
    a = b;
    b = swap;
  }
  if (is_complex(a)) {
    if (!is_floating(b) && !is_complex(b)) return a;
    return complex_of(promote_types(real_type(a), real_type(b)));
  }
  if (category(a) != category(b)) return a;
  if (is_floating(a)) return element_size(a) == element_size(b) ? ScalarType::Float : wider(a, b);
  if (is_unsigned_wide(a) || is_unsigned_wide(b)) {
    return is_unsigned_wide(a) && is_unsigned_wide(b) ? wider(a, b) : ScalarType::Long;
  }
  if (a == ScalarType::Byte || b == ScalarType::Byte) return wider(ScalarType::Short, wider(a, b));
  return wider(a, b);
}

bool can_cast(ScalarType from, ScalarType to) {
  if (is_complex(from) && !is_complex(to)) return false;
  if (is_floating(from) && !is_floating(to) && !is_complex(to)) return false;
  return from == ScalarType::Bool || to != ScalarType::Bool;
}

void ResultType::merge(ScalarType& into, ScalarType type) { into = into == kNone ? type : promote_types(into, type); }

ResultType& ResultType::with(const Tensor& tensor) {
  merge(tensor.dim() > 0 ? tensors_ : zero_dim_tensors_, tensor.scalar_type());
  return *this;
}

ResultType& ResultType::with(const Scalar& number) {
  merge(numbers_, number.is_double() ? ScalarType::Float : number.is_bool() ? ScalarType::Bool : ScalarType::Long);
  return *this;
}

ScalarType ResultType::get() const {
  ScalarType result = tensors_;
  for (const ScalarType lower : {zero_dim_tensors_, numbers_}) {
    if (lower == kNone) continue;
    if (result == kNone) {
      result = lower;
    } else if (is_floating(result) && is_complex(lower)) {
      result = complex_of(result);
    } else if (category(lower) > category(result)) {
      result = promote_types(result, lower);
    }
  }
  return result;
}

ScalarType result_type(const Tensor& a, const Tensor& b) { return ResultType().with(a).with(b).get(); }
ScalarType result_type(const Tensor& a, const Scalar& b) { return ResultType().with(a).with(b).get(); }
ScalarType result_type(const Tensor& a, const Tensor& b, const Tensor& c) {
  return ResultType().with(a).with(b).with(c).get();
}

}  // namespace rushlight
