// Vectors of float16 and bfloat16, in namespace rushlight::microkernels::RL_ISA.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "microkernels/simd/vec.h"
#include "microkernels/tables/f16.h"
#include "rushlight/core/half.h"

namespace rushlight::microkernels::RL_ISA {

typedef uint16_t Shorts __attribute__((vector_size(kWidth * 2)));
typedef uint16_t UnalignedShorts __attribute__((vector_size(kWidth * 2), aligned(2), may_alias));
typedef uint32_t Words __attribute__((vector_size(kWidth * 4)));
typedef uint32_t UnalignedWords __attribute__((vector_size(kWidth * 4), aligned(2), may_alias));

RL_INLINE Shorts load_shorts(const uint16_t* p) { return *reinterpret_cast<const UnalignedShorts*>(p); }
RL_INLINE void store_shorts(uint16_t* p, Shorts v) { *reinterpret_cast<UnalignedShorts*>(p) = v; }

struct Float16 {
  using Item = uint16_t;
#if defined(__AVX512F__) && RL_WIDTH == 16
  // The forms with masks avoid warnings of GCC.
  RL_INLINE Floats widen(Shorts v) {
    return reinterpret_cast<Floats>(_mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(v)));
  }
  RL_INLINE Shorts narrow(Floats v) {
    return reinterpret_cast<Shorts>(
        _mm512_maskz_cvtps_ph(0xffff, reinterpret_cast<__m512>(v), _MM_FROUND_TO_NEAREST_INT));
  }
#elif defined(__AVX2__) && RL_WIDTH == 8
  RL_INLINE Floats widen(Shorts v) { return reinterpret_cast<Floats>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(v))); }
  RL_INLINE Shorts narrow(Floats v) {
    return reinterpret_cast<Shorts>(_mm256_cvtps_ph(reinterpret_cast<__m256>(v), _MM_FROUND_TO_NEAREST_INT));
  }
#elif defined(__aarch64__) && RL_WIDTH == 4
  RL_INLINE Floats widen(Shorts v) { return reinterpret_cast<Floats>(vcvt_f32_f16(reinterpret_cast<float16x4_t>(v))); }
  RL_INLINE Shorts narrow(Floats v) { return reinterpret_cast<Shorts>(vcvt_f16_f32(reinterpret_cast<float32x4_t>(v))); }
#else
  // Without instructions for conversions, these are most of the code of a loop. Functions hold them only once.
  __attribute__((noinline)) static void widen_lanes(const Shorts& from, Floats& to) {
    RL_UNROLL for (int i = 0; i < kWidth; ++i) to[i] = detail::half_to_float(from[i]);
  }
  __attribute__((noinline)) static void narrow_lanes(const Floats& from, Shorts& to) {
    RL_UNROLL for (int i = 0; i < kWidth; ++i) to[i] = detail::float_to_half(from[i]);
  }
  RL_INLINE Floats widen(Shorts v) {
    Floats wide;
    widen_lanes(v, wide);
    return wide;
  }
  RL_INLINE Shorts narrow(Floats v) {
    Shorts few;
    narrow_lanes(v, few);
    return few;
  }
#endif
};

struct BFloat16Bits {
  using Item = uint16_t;
// This is an intrinsic, because GCC converts the two halves of a vector separately.
#if defined(__AVX512F__) && RL_WIDTH == 16
  RL_INLINE Words words(Shorts v) {
    return reinterpret_cast<Words>(_mm512_maskz_cvtepu16_epi32(0xffff, reinterpret_cast<__m256i>(v)));
  }
#elif defined(__AVX2__) && RL_WIDTH == 8
  RL_INLINE Words words(Shorts v) {
    return reinterpret_cast<Words>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(v)));
  }
#else
  RL_INLINE Words words(Shorts v) { return __builtin_convertvector(v, Words); }
#endif
  RL_INLINE Floats widen(Shorts v) { return reinterpret_cast<Floats>(words(v) << 16); }
  // Converts 2 * kWidth numbers: the even indices to `even`, the odd indices to `odd`.
  RL_INLINE void widen_pairs(const uint16_t* p, Floats& even, Floats& odd) {
    const Words pairs = *reinterpret_cast<const UnalignedWords*>(p);
    even = reinterpret_cast<Floats>(pairs << 16);
    odd = reinterpret_cast<Floats>(pairs & 0xffff0000u);
  }
  RL_INLINE Shorts narrow(Floats v) {
    const Words bits = reinterpret_cast<Words>(v);
    const Words rounded = (bits + ((bits >> 16 & 1) + 0x7fff)) >> 16;
    const Words quiet = Words{} + 0x7fc0;
    return __builtin_convertvector(v != v ? quiet : rounded, Shorts);
  }
};

// Calls body(T()), where T is the C++ type of `type`.
template <typename Body>
RL_INLINE void for_f16(F16Type type, const Body& body) {
  if (type == F16Type::Float16) return body(Float16());
  body(BFloat16Bits());
}

}  // namespace rushlight::microkernels::RL_ISA
