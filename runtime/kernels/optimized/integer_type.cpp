#include "kernels/optimized/integer_type.h"

#include <limits>

namespace rushlight::optimized {

using microkernels::IntegerType;

bool integer_type_of(ScalarType type, IntegerRange* range) {
  switch (type) {
    case ScalarType::Byte:
      *range = {IntegerType::UInt8, 0, 255};
      return true;
    case ScalarType::Char:
      *range = {IntegerType::Int8, -128, 127};
      return true;
    case ScalarType::Short:
      *range = {IntegerType::Int16, -32768, 32767};
      return true;
    case ScalarType::Int:
      *range = {IntegerType::Int32, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
      return true;
    case ScalarType::Long:
      *range = {IntegerType::Int64, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
      return true;
    default:
      return false;
  }
}

}  // namespace rushlight::optimized
