#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

namespace rushlight {

namespace detail {

inline uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// Converts IEEE 754 binary16 to binary32, which is exact.
inline float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) return float_of(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude >= 0x0400u) return float_of(sign | ((magnitude << 13) + 0x38000000u));
  const float tiny = static_cast<float>(magnitude) * 0x1p-24f;
  return sign ? -tiny : tiny;
}

// Converts binary32 to binary16, and rounds to nearest, ties to even.
inline uint16_t float_to_half(float value) {
  const uint32_t bits = bits_of(value);
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;
  if (magnitude < 0x38800000u) {
    // The result is subnormal. Adding 0.5 shifts the significand, so that the floating-point unit rounds it.
    const float rounded = float_of(magnitude) + 0.5f;
    return sign | static_cast<uint16_t>(bits_of(rounded) - 0x3f000000u);
  }
  return sign | static_cast<uint16_t>((magnitude + 0xc8000fffu + (magnitude >> 13 & 1u)) >> 13);
}

inline float bfloat16_to_float(uint16_t value) { return float_of(static_cast<uint32_t>(value) << 16); }

// Converts binary32 to bfloat16, and rounds to nearest, ties to even.
inline uint16_t float_to_bfloat16(float value) {
  const uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0u;
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace detail

// A float16 number (IEEE 754 binary16). It converts to float for arithmetic.
struct alignas(2) Half {
  uint16_t bits = 0;
  Half() = default;
  Half(float value) : bits(detail::float_to_half(value)) {}       // NOLINT
  operator float() const { return detail::half_to_float(bits); }  // NOLINT
};

// A bfloat16 number, the upper half of a binary32. It converts to float for arithmetic.
struct alignas(2) BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  BFloat16(float value) : bits(detail::float_to_bfloat16(value)) {}   // NOLINT
  operator float() const { return detail::bfloat16_to_float(bits); }  // NOLINT
};

}  // namespace rushlight
