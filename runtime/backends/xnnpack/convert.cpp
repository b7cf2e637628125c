#include "backends/xnnpack/convert.h"

#include <cstring>

#include "rushlight/core/half.h"

namespace rushlight::xnnpack {

void to_float(ScalarType dtype, const void* values, int64_t count, float* floats) {
  const uint16_t* f16 = static_cast<const uint16_t*>(values);
  if (dtype == ScalarType::Half) {
    for (int64_t i = 0; i < count; ++i) floats[i] = detail::half_to_float(f16[i]);
  } else if (dtype == ScalarType::BFloat16) {
    for (int64_t i = 0; i < count; ++i) floats[i] = detail::bfloat16_to_float(f16[i]);
  } else {
    std::memcpy(floats, values, static_cast<size_t>(count) * sizeof(float));
  }
}

void from_float(ScalarType dtype, const float* floats, int64_t count, void* values) {
  uint16_t* f16 = static_cast<uint16_t*>(values);
  if (dtype == ScalarType::Half) {
    for (int64_t i = 0; i < count; ++i) f16[i] = detail::float_to_half(floats[i]);
  } else if (dtype == ScalarType::BFloat16) {
    for (int64_t i = 0; i < count; ++i) f16[i] = detail::float_to_bfloat16(floats[i]);
  } else {
    std::memcpy(values, floats, static_cast<size_t>(count) * sizeof(float));
  }
}

}  // namespace rushlight::xnnpack
