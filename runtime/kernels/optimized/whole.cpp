#include "kernels/optimized/whole.h"

#include <limits>

namespace rushlight::optimized {

using tiles::WholeType;

bool whole_of(ScalarType type, Whole* whole) {
  switch (type) {
    case ScalarType::Byte:
      *whole = {WholeType::UInt8, 0, 255};
      return true;
    case ScalarType::Char:
      *whole = {WholeType::Int8, -128, 127};
      return true;
    case ScalarType::Short:
      *whole = {WholeType::Int16, -32768, 32767};
      return true;
    case ScalarType::Int:
      *whole = {WholeType::Int32, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
      return true;
    case ScalarType::Long:
      *whole = {WholeType::Int64, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
      return true;
    default:
      return false;
  }
}

}  // namespace rushlight::optimized
