// The DSP instructions that microkernels/cortex_m uses, in plain C++. With `-D__ARM_ARCH_PROFILE=77
// -D__ARM_FEATURE_DSP=1 -D__ARM_FP=4`, and this folder before the system's include folders, a host can compile and test
// these loops.
#pragma once

#include <cstdint>

using int8x4_t = int32_t;
using uint8x4_t = uint32_t;
using int16x2_t = int32_t;

inline int32_t lower_half(int32_t word) { return static_cast<int16_t>(word & 0xffff); }
inline int32_t upper_half(int32_t word) { return static_cast<int16_t>(static_cast<uint32_t>(word) >> 16); }
inline int32_t halves(int32_t lower, int32_t upper) {
  return static_cast<int32_t>((static_cast<uint32_t>(upper) << 16) | (static_cast<uint32_t>(lower) & 0xffff));
}

inline int16x2_t __sxtb16(int8x4_t word) {
  return halves(static_cast<int8_t>(word & 0xff), static_cast<int8_t>(word >> 16 & 0xff));
}

inline int16x2_t __ssub16(int16x2_t a, int16x2_t b) {
  return halves(lower_half(a) - lower_half(b), upper_half(a) - upper_half(b));
}

inline int32_t __smlad(int16x2_t a, int16x2_t b, int32_t sum) {
  return sum + lower_half(a) * lower_half(b) + upper_half(a) * upper_half(b);
}

inline int32_t __qadd(int32_t a, int32_t b) {
  const int64_t sum = int64_t{a} + b;
  return static_cast<int32_t>(sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum);
}

inline int32_t __ssat(int32_t x, int bits) {
  const int32_t most = (1 << (bits - 1)) - 1;
  return x > most ? most : x < -most - 1 ? -most - 1 : x;
}

// The flags that __usub8() sets and __sel() reads, one bit for each byte.
inline uint32_t& greater_or_equal() {
  thread_local uint32_t flags = 0;
  return flags;
}

inline uint8x4_t __usub8(uint8x4_t a, uint8x4_t b) {
  uint32_t result = 0;
  greater_or_equal() = 0;
  for (int byte = 0; byte < 4; ++byte) {
    const uint32_t x = a >> 8 * byte & 0xff, y = b >> 8 * byte & 0xff;
    result |= (x - y & 0xff) << 8 * byte;
    greater_or_equal() |= static_cast<uint32_t>(x >= y) << byte;
  }
  return result;
}

inline uint8x4_t __sel(uint8x4_t a, uint8x4_t b) {
  uint32_t chosen = 0;
  for (int byte = 0; byte < 4; ++byte) chosen |= (greater_or_equal() >> byte & 1) * (0xffu << 8 * byte);
  return (a & chosen) | (b & ~chosen);
}

inline uint32_t __usada8(uint8x4_t a, uint8x4_t b, uint32_t sum) {
  for (int i = 0; i < 32; i += 8) {
    const int32_t difference = static_cast<int32_t>(a >> i & 0xff) - static_cast<int32_t>(b >> i & 0xff);
    sum += static_cast<uint32_t>(difference < 0 ? -difference : difference);
  }
  return sum;
}
