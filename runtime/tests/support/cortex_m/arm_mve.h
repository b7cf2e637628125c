// The instructions of Helium that microkernels/cortex_m uses, in plain C++. With `-D__ARM_ARCH_PROFILE=77
// -D__ARM_FEATURE_MVE=3`, and this folder before the system's include folders, a host can compile and test these loops.
// Lanes that are not valid read and write no memory.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

using int8x16_t = int8_t __attribute__((vector_size(16)));
using uint8x16_t = uint8_t __attribute__((vector_size(16)));
using int16x8_t = int16_t __attribute__((vector_size(16)));
using uint16x8_t = uint16_t __attribute__((vector_size(16)));
using int32x4_t = int32_t __attribute__((vector_size(16)));
using uint32x4_t = uint32_t __attribute__((vector_size(16)));
using float32x4_t = float __attribute__((vector_size(16)));
using mve_pred16_t = uint16_t;  // one bit for each byte

namespace helium {

template <typename Vector>
constexpr int lanes() {
  return static_cast<int>(sizeof(Vector) / sizeof(Vector{}[0]));
}

template <typename Vector>
bool is_valid(mve_pred16_t valid, int lane) {
  return (valid >> (lane * static_cast<int>(sizeof(Vector{}[0]))) & 1) != 0;
}

// Makes a vector with make(lane) in valid lanes and zeros in all others.
template <typename Vector, typename Make>
Vector each(const Make& make, mve_pred16_t valid = 0xffff) {
  Vector result{};
  for (int i = 0; i < lanes<Vector>(); ++i) {
    if (is_valid<Vector>(valid, i)) result[i] = make(i);
  }
  return result;
}

template <typename T>
T load(const void* from, int64_t offset) {
  T value;
  std::memcpy(&value, static_cast<const uint8_t*>(from) + offset, sizeof(value));
  return value;
}

template <typename T>
void store(void* to, int64_t offset, T value) {
  std::memcpy(static_cast<uint8_t*>(to) + offset, &value, sizeof(value));
}

// Returns the predicate of the first n lanes of `size` bytes.
inline mve_pred16_t first_lanes(uint32_t n, uint32_t size) {
  const uint32_t bytes = n > 16 / size ? 16 : n * size;
  return static_cast<mve_pred16_t>((1u << bytes) - 1);
}

template <typename Compare>
mve_pred16_t compare(const Compare& compare) {
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) result |= compare(i) ? 0xfu << (4 * i) : 0;
  return static_cast<mve_pred16_t>(result);
}

}  // namespace helium

inline mve_pred16_t vctp8q(uint32_t n) { return helium::first_lanes(n, 1); }
inline mve_pred16_t vctp32q(uint32_t n) { return helium::first_lanes(n, 4); }
inline mve_pred16_t vcmpgtq_s32(int32x4_t a, int32x4_t b) {
  return helium::compare([&](int i) { return a[i] > b[i]; });
}
inline mve_pred16_t vcmpeqq_f32(float32x4_t a, float32x4_t b) {
  return helium::compare([&](int i) { return a[i] == b[i]; });
}
inline int32x4_t vpselq_s32(int32x4_t a, int32x4_t b, mve_pred16_t chosen) {
  return helium::each<int32x4_t>([&](int i) { return helium::is_valid<int32x4_t>(chosen, i) ? a[i] : b[i]; });
}

inline int8x16_t vldrbq_s8(const int8_t* from) {
  return helium::each<int8x16_t>([&](int i) { return from[i]; });
}
inline int8x16_t vldrbq_z_s8(const int8_t* from, mve_pred16_t valid) {
  return helium::each<int8x16_t>([&](int i) { return from[i]; }, valid);
}
inline uint8x16_t vldrbq_u8(const uint8_t* from) {
  return helium::each<uint8x16_t>([&](int i) { return from[i]; });
}
inline uint8x16_t vldrbq_z_u8(const uint8_t* from, mve_pred16_t valid) {
  return helium::each<uint8x16_t>([&](int i) { return from[i]; }, valid);
}
inline uint32x4_t vldrbq_u32(const uint8_t* from) {
  return helium::each<uint32x4_t>([&](int i) { return from[i]; });
}
inline uint32x4_t vldrbq_z_u32(const uint8_t* from, mve_pred16_t valid) {
  return helium::each<uint32x4_t>([&](int i) { return from[i]; }, valid);
}
inline uint16x8_t vldrhq_u16(const uint16_t* from) {
  return helium::each<uint16x8_t>([&](int i) { return from[i]; });
}
inline uint32x4_t vldrhq_u32(const uint16_t* from) {
  return helium::each<uint32x4_t>([&](int i) { return from[i]; });
}
inline float32x4_t vldrwq_z_f32(const float* from, mve_pred16_t valid) {
  return helium::each<float32x4_t>([&](int i) { return from[i]; }, valid);
}
inline float32x4_t vldrwq_f32(const float* from) { return vldrwq_z_f32(from, 0xffff); }
inline int32x4_t vldrwq_z_s32(const int32_t* from, mve_pred16_t valid) {
  return helium::each<int32x4_t>([&](int i) { return from[i]; }, valid);
}
inline int16x8_t vldrbq_gather_offset_s16(const int8_t* from, uint16x8_t offsets) {
  return helium::each<int16x8_t>([&](int i) { return from[offsets[i]]; });
}
inline int32x4_t vldrbq_gather_offset_s32(const int8_t* from, uint32x4_t offsets) {
  return helium::each<int32x4_t>([&](int i) { return from[offsets[i]]; });
}
inline uint32x4_t vldrbq_gather_offset_z_u32(const uint8_t* from, uint32x4_t offsets, mve_pred16_t valid) {
  return helium::each<uint32x4_t>([&](int i) { return from[offsets[i]]; }, valid);
}
inline uint8x16_t vldrbq_gather_offset_u8(const uint8_t* from, uint8x16_t offsets) {
  return helium::each<uint8x16_t>([&](int i) { return from[offsets[i]]; });
}
inline uint8x16_t vldrbq_gather_offset_z_u8(const uint8_t* from, uint8x16_t offsets, mve_pred16_t valid) {
  return helium::each<uint8x16_t>([&](int i) { return from[offsets[i]]; }, valid);
}
inline int32x4_t vldrwq_gather_shifted_offset_z_s32(const int32_t* from, uint32x4_t places, mve_pred16_t valid) {
  return helium::each<int32x4_t>([&](int i) { return from[places[i]]; }, valid);
}
inline int32x4_t vldrwq_gather_shifted_offset_s32(const int32_t* from, uint32x4_t places) {
  return vldrwq_gather_shifted_offset_z_s32(from, places, 0xffff);
}
inline float32x4_t vldrwq_gather_offset_z_f32(const float* from, uint32x4_t offsets, mve_pred16_t valid) {
  return helium::each<float32x4_t>([&](int i) { return helium::load<float>(from, offsets[i]); }, valid);
}

inline void vstrbq_p_s8(int8_t* to, int8x16_t a, mve_pred16_t valid) {
  helium::each<int8x16_t>([&](int i) { return to[i] = a[i]; }, valid);
}
inline void vstrbq_p_u8(uint8_t* to, uint8x16_t a, mve_pred16_t valid) {
  helium::each<uint8x16_t>([&](int i) { return to[i] = a[i]; }, valid);
}
inline void vstrbq_u8(uint8_t* to, uint8x16_t a) { vstrbq_p_u8(to, a, 0xffff); }
inline void vstrbq_s16(int8_t* to, int16x8_t a) {
  helium::each<int16x8_t>([&](int i) { return to[i] = static_cast<int8_t>(a[i]); });
}
inline void vstrbq_p_s32(int8_t* to, int32x4_t a, mve_pred16_t valid) {
  helium::each<int32x4_t>([&](int i) { return to[i] = static_cast<int8_t>(a[i]); }, valid);
}
inline void vstrbq_s32(int8_t* to, int32x4_t a) { vstrbq_p_s32(to, a, 0xffff); }
inline void vstrwq_p_f32(float* to, float32x4_t a, mve_pred16_t valid) {
  helium::each<float32x4_t>([&](int i) { return to[i] = a[i]; }, valid);
}
inline void vstrwq_f32(float* to, float32x4_t a) { vstrwq_p_f32(to, a, 0xffff); }
inline void vstrbq_scatter_offset_p_s32(int8_t* to, uint32x4_t offsets, int32x4_t a, mve_pred16_t valid) {
  helium::each<int32x4_t>([&](int i) { return to[offsets[i]] = static_cast<int8_t>(a[i]); }, valid);
}
inline void vstrbq_scatter_offset_s32(int8_t* to, uint32x4_t offsets, int32x4_t a) {
  vstrbq_scatter_offset_p_s32(to, offsets, a, 0xffff);
}
inline void vstrwq_scatter_offset_p_s32(int32_t* to, uint32x4_t offsets, int32x4_t a, mve_pred16_t valid) {
  helium::each<int32x4_t>([&](int i) { return helium::store(to, offsets[i], a[i]), 0; }, valid);
}
inline void vstrwq_scatter_offset_f32(float* to, uint32x4_t offsets, float32x4_t a) {
  helium::each<float32x4_t>([&](int i) { return helium::store(to, offsets[i], a[i]), 0.0f; });
}

inline uint8x16_t vdupq_n_u8(uint8_t x) {
  return helium::each<uint8x16_t>([&](int) { return x; });
}
inline int8x16_t vdupq_n_s8(int8_t x) {
  return helium::each<int8x16_t>([&](int) { return x; });
}
inline uint32x4_t vdupq_n_u32(uint32_t x) { return uint32x4_t{x, x, x, x}; }
inline int32x4_t vdupq_n_s32(int32_t x) { return int32x4_t{x, x, x, x}; }
inline float32x4_t vdupq_n_f32(float x) { return float32x4_t{x, x, x, x}; }
inline uint32x4_t vidupq_n_u32(uint32_t first, uint32_t step) {
  return uint32x4_t{first, first + step, first + 2 * step, first + 3 * step};
}
inline int32x4_t vreinterpretq_s32_u32(uint32x4_t a) { return reinterpret_cast<int32x4_t>(a); }
inline uint32x4_t vreinterpretq_u32_f32(float32x4_t a) { return reinterpret_cast<uint32x4_t>(a); }
inline uint8x16_t vreinterpretq_u8_u32(uint32x4_t a) { return reinterpret_cast<uint8x16_t>(a); }

// Arithmetic; sums of integers wrap around.

inline int32x4_t vaddq_s32(int32x4_t a, int32x4_t b) {
  return reinterpret_cast<int32x4_t>(reinterpret_cast<uint32x4_t>(a) + reinterpret_cast<uint32x4_t>(b));
}
inline int32x4_t vaddq_n_s32(int32x4_t a, int32_t b) { return vaddq_s32(a, vdupq_n_s32(b)); }
inline int32x4_t vsubq_n_s32(int32x4_t a, int32_t b) { return vaddq_s32(a, vdupq_n_s32(-b)); }
inline uint32x4_t vsubq_u32(uint32x4_t a, uint32x4_t b) { return a - b; }
inline uint32x4_t vsubq_n_u32(uint32x4_t a, uint32_t b) { return a - vdupq_n_u32(b); }
inline uint32x4_t vshlq_n_u32(uint32x4_t a, int n) { return a << vdupq_n_u32(static_cast<uint32_t>(n)); }
inline uint32x4_t vmulq_n_u32(uint32x4_t a, uint32_t b) { return a * vdupq_n_u32(b); }
inline int32x4_t vmlaq_n_s32(int32x4_t sum, int32x4_t a, int32_t b) {
  return vaddq_s32(
      sum, reinterpret_cast<int32x4_t>(reinterpret_cast<uint32x4_t>(a) * vdupq_n_u32(static_cast<uint32_t>(b))));
}
inline int32x4_t vminq_s32(int32x4_t a, int32x4_t b) {
  return helium::each<int32x4_t>([&](int i) { return a[i] < b[i] ? a[i] : b[i]; });
}
inline int32x4_t vmaxq_s32(int32x4_t a, int32x4_t b) {
  return helium::each<int32x4_t>([&](int i) { return a[i] > b[i] ? a[i] : b[i]; });
}
inline uint32x4_t vmaxq_u32(uint32x4_t a, uint32x4_t b) {
  return helium::each<uint32x4_t>([&](int i) { return a[i] > b[i] ? a[i] : b[i]; });
}
inline int32x4_t veorq_s32(int32x4_t a, int32x4_t b) { return a ^ b; }
inline uint32x4_t veorq_u32(uint32x4_t a, uint32x4_t b) { return a ^ b; }
inline uint8x16_t veorq_u8(uint8x16_t a, uint8x16_t b) { return a ^ b; }

inline int32_t vmladavaq_s8(int32_t sum, int8x16_t a, int8x16_t b) {
  for (int i = 0; i < 16; ++i) sum += a[i] * b[i];
  return sum;
}
inline int32_t vaddvaq_s8(int32_t sum, int8x16_t a) {
  for (int i = 0; i < 16; ++i) sum += a[i];
  return sum;
}
inline uint32_t vaddvaq_p_u8(uint32_t sum, uint8x16_t a, mve_pred16_t valid) {
  for (int i = 0; i < 16; ++i) sum += helium::is_valid<uint8x16_t>(valid, i) ? a[i] : 0;
  return sum;
}
inline uint8_t vmaxvq_p_u8(uint8_t most, uint8x16_t a, mve_pred16_t valid) {
  for (int i = 0; i < 16; ++i) most = helium::is_valid<uint8x16_t>(valid, i) && a[i] > most ? a[i] : most;
  return most;
}
inline uint32_t vmaxvq_u32(uint32_t most, uint32x4_t a) {
  for (int i = 0; i < 4; ++i) most = a[i] > most ? a[i] : most;
  return most;
}
inline int64_t vaddlvaq_s32(int64_t sum, int32x4_t a) {
  for (int i = 0; i < 4; ++i) sum += a[i];
  return sum;
}
inline uint32_t vaddvaq_u8(uint32_t sum, uint8x16_t a) { return vaddvaq_p_u8(sum, a, 0xffff); }

inline float32x4_t vaddq_f32(float32x4_t a, float32x4_t b) { return a + b; }
inline float32x4_t vaddq_n_f32(float32x4_t a, float b) { return a + vdupq_n_f32(b); }
inline float32x4_t vmulq_f32(float32x4_t a, float32x4_t b) { return a * b; }
inline float32x4_t vmulq_n_f32(float32x4_t a, float b) { return a * vdupq_n_f32(b); }
inline float32x4_t vcvtq_f32_s32(int32x4_t a) {
  return helium::each<float32x4_t>([&](int i) { return static_cast<float>(a[i]); });
}
// Rounds to the nearest integer, ties to even. Values out of range become the nearest int32, and NaN becomes 0.
inline int32x4_t vcvtnq_s32_f32(float32x4_t a) {
  return helium::each<int32x4_t>([&](int i) {
    const float x = a[i];
    if (x != x) return 0;
    return x >= 2147483648.0f ? INT32_MAX : x < -2147483648.0f ? INT32_MIN : static_cast<int32_t>(std::nearbyint(x));
  });
}
