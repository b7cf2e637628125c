#include "kernels/shared/half.h"

#include <algorithm>

#include "core/cpu_features.h"

namespace rushlight {

#if defined(__x86_64__) || defined(__i386__)
#define RL_HALF_X86 1
// half_avx2.cpp defines these functions. They return the number of converted elements.
int64_t widen_half_f16c(const Half* from, float* to, int64_t n);
int64_t narrow_half_f16c(const float* from, Half* to, int64_t n);
int64_t widen_bfloat16_avx2(const BFloat16* from, float* to, int64_t n);
int64_t narrow_bfloat16_avx2(const float* from, BFloat16* to, int64_t n);
#endif

void widen_half(const Half* __restrict from, float* __restrict to, int64_t n) {
  int64_t i = 0;
#if RL_HALF_X86
  if (cpu_features().avx2) i = widen_half_f16c(from, to, n);
#elif defined(__aarch64__)
  const auto* const source = reinterpret_cast<const __fp16*>(from);
  for (; i < n; ++i) to[i] = static_cast<float>(source[i]);
#endif
  for (; i < n; ++i) to[i] = static_cast<float>(from[i]);
}

void narrow_half(const float* __restrict from, Half* __restrict to, int64_t n) {
  int64_t i = 0;
#if RL_HALF_X86
  if (cpu_features().avx2) i = narrow_half_f16c(from, to, n);
#elif defined(__aarch64__)
  auto* const target = reinterpret_cast<__fp16*>(to);
  for (; i < n; ++i) target[i] = static_cast<__fp16>(from[i]);
#endif
  for (; i < n; ++i) to[i] = Half(from[i]);
}

void widen_bfloat16(const BFloat16* __restrict from, float* __restrict to, int64_t n) {
  int64_t i = 0;
#if RL_HALF_X86
  if (cpu_features().avx2) i = widen_bfloat16_avx2(from, to, n);
#endif
  for (; i < n; ++i) to[i] = static_cast<float>(from[i]);
}

void narrow_bfloat16(const float* __restrict from, BFloat16* __restrict to, int64_t n) {
  int64_t i = 0;
#if RL_HALF_X86
  if (cpu_features().avx2) i = narrow_bfloat16_avx2(from, to, n);
#endif
  for (; i < n; ++i) to[i] = BFloat16(from[i]);
}

void round_half(float* values, int64_t n) {
  constexpr int64_t kChunk = 256;
  Half narrow[kChunk];
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t count = std::min(kChunk, n - i);
    narrow_half(values + i, narrow, count);
    widen_half(narrow, values + i, count);
  }
}

void round_bfloat16(float* values, int64_t n) {
  constexpr int64_t kChunk = 256;
  BFloat16 narrow[kChunk];
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t count = std::min(kChunk, n - i);
    narrow_bfloat16(values + i, narrow, count);
    widen_bfloat16(narrow, values + i, count);
  }
}

}  // namespace rushlight
