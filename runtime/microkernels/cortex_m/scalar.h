// Quantized numbers one at a time, on processors with float32 instructions.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "microkernels/cortex_m/int8.h"
#include "microkernels/simd/inline.h"

namespace rushlight::microkernels::cortex_m {

// Rounds to the nearest integer, ties to even. Values out of range become the nearest int32, and NaN becomes 0.
RL_INLINE int32_t round_to_int32(float x) {
#if defined(__arm__)
  float converted;
  asm("vcvtr.s32.f32 %0, %1" : "=t"(converted) : "t"(x));
  int32_t result;
  std::memcpy(&result, &converted, sizeof(result));
  return result;
#else
  if (x != x) return 0;
  return x >= 2147483648.0f ? INT32_MAX : x < -2147483648.0f ? INT32_MIN : static_cast<int32_t>(std::nearbyint(x));
#endif
}

RL_INLINE uint8_t requantized(float real, const Int8Output& output) {
  const int32_t whole = round_to_int32(real * output.inverse);
  const int32_t below = whole < output.most ? whole : output.most;
  return static_cast<uint8_t>((below > output.least ? below : output.least) + output.zero);
}

RL_INLINE uint8_t requantized(int32_t sum, const Int8Channel& channel, const Int8Output& output) {
  return requantized(static_cast<float>(sum) * channel.factor + channel.offset, output);
}

RL_INLINE float real_number(uint8_t byte, const Int8Operand& operand) {
  return static_cast<float>(static_cast<int8_t>(byte ^ operand.flip) - operand.zero) * operand.scale;
}

RL_INLINE uint32_t load_word(const void* from) {
  uint32_t word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

}  // namespace rushlight::microkernels::cortex_m
