// Vectors of RL_WIDTH floats, in namespace rushlight::microkernels::RL_ISA. All definitions have internal linkage or
// are in that namespace, so that the linker never merges code for different instruction sets.
#pragma once

#if !defined(RL_ISA) || !defined(RL_WIDTH)
#error "define RL_ISA (a namespace) and RL_WIDTH (floats in a vector) before including this file"
#endif

#include <cstdint>
#include <utility>

#include "microkernels/simd/inline.h"

// Defined if there are masked loads and stores of AVX-512, for vectors of 512 or 256 bits.
#if (defined(__AVX512F__) && RL_WIDTH == 16) || (defined(__AVX512VL__) && RL_WIDTH == 8)
#define RL_MASKS 1
#endif
// Defined if one instruction can permute the elements of a vector.
#if defined(RL_MASKS) || (defined(__AVX2__) && RL_WIDTH == 8)
#define RL_PERMUTES 1
#include <immintrin.h>
#endif

namespace rushlight::microkernels::RL_ISA {

inline constexpr int kWidth = RL_WIDTH;

typedef float Floats __attribute__((vector_size(kWidth * 4)));
typedef int32_t Ints __attribute__((vector_size(kWidth * 4)));
typedef float UnalignedFloats __attribute__((vector_size(kWidth * 4), aligned(4), may_alias));
typedef int32_t UnalignedInts __attribute__((vector_size(kWidth * 4), aligned(4), may_alias));

// Returns a vector whose elements are all x. x - 0 equals x for every x, also for -0, so that compilers remove the
// subtraction.
RL_INLINE Floats splat(float x) { return x - Floats{}; }
RL_INLINE Ints splat_int(int32_t x) { return x - Ints{}; }

RL_INLINE Floats load(const float* p) { return *reinterpret_cast<const UnalignedFloats*>(p); }
RL_INLINE void store(float* p, Floats v) { *reinterpret_cast<UnalignedFloats*>(p) = v; }

// Returns sum + x * y with one rounding. This is assembly, because g++ chooses forms of the instruction that overwrite
// x.
RL_INLINE Floats add_product(Floats sum, Floats x, Floats y) {
#if defined(__FMA__) && RL_WIDTH == 8 && !defined(RL_MASKS)
  asm("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(x), "x"(y));
  return sum;
#elif defined(RL_MASKS)
  asm("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y));
  return sum;
#else
  return sum + x * y;
#endif
}

// Returns sum + x * y for sums that must be bit-equal in several functions. g++ for aarch64 fuses the operation only in
// some functions.
RL_INLINE Floats add_fused(Floats sum, Floats x, Floats y) {
#if defined(__aarch64__) && RL_WIDTH == 4
  asm("fmla %0.4s, %1.4s, %2.4s" : "+w"(sum) : "w"(x), "w"(y));
  return sum;
#else
  return sum + x * y;
#endif
}

#ifdef RL_PERMUTES
// Returns a vector of elements of x, with one instruction. Element i is x[index[i]]. With vectors of 8 floats, index[i]
// must be in the same half of the vector as i: some processors permute within halves in half the time.
RL_INLINE Floats permuted(Floats x, Ints index) {
#if RL_WIDTH == 8
  return (Floats)_mm256_permutevar_ps((__m256)x, (__m256i)index);
#elif !defined(__clang__)
  return __builtin_shuffle(x, index);
#else
  return (Floats)_mm512_permutexvar_ps((__m512i)index, (__m512)x);
#endif
}
#endif

RL_INLINE Floats as_floats(Ints v) { return reinterpret_cast<Floats>(v); }
RL_INLINE Ints as_ints(Floats v) { return reinterpret_cast<Ints>(v); }

// Returns whether any lane of a mask is set.
RL_INLINE bool any(Ints mask) {
#if defined(__AVX2__) && RL_WIDTH == 8
  return _mm256_movemask_ps((__m256)mask) != 0;
#else
  typedef int64_t Pairs __attribute__((vector_size(kWidth * 4)));
  const Pairs pairs = reinterpret_cast<Pairs>(mask);
  int64_t some = 0;
  RL_UNROLL for (int i = 0; i < kWidth / 2; ++i) some |= pairs[i];
  return some != 0;
#endif
}

// Returns yes where `mask` is set, else no. Each lane of `mask` is all ones or all zeros.
RL_INLINE Floats select(Ints mask, Floats yes, Floats no) { return mask ? yes : no; }
// Return the maximum of x and a bound, or the minimum. A NaN in `x` is kept, because the x86 instructions return their
// second operand if an operand is NaN.
#if defined(__AVX2__) && RL_WIDTH == 8
RL_INLINE Floats at_least(Floats x, Floats low) { return __builtin_ia32_maxps256(low, x); }
RL_INLINE Floats at_most(Floats x, Floats high) { return __builtin_ia32_minps256(high, x); }
#elif defined(__AVX512F__) && RL_WIDTH == 16
// The forms with masks avoid warnings of GCC 12.
RL_INLINE Floats at_least(Floats x, Floats low) { return _mm512_maskz_max_ps(0xffff, low, x); }
RL_INLINE Floats at_most(Floats x, Floats high) { return _mm512_maskz_min_ps(0xffff, high, x); }
#elif defined(__SSE2__) && RL_WIDTH == 4
RL_INLINE Floats at_least(Floats x, Floats low) { return __builtin_ia32_maxps(low, x); }
RL_INLINE Floats at_most(Floats x, Floats high) { return __builtin_ia32_minps(high, x); }
#else
RL_INLINE Floats at_least(Floats x, Floats low) { return low > x ? low : x; }
RL_INLINE Floats at_most(Floats x, Floats high) { return high < x ? high : x; }
#endif

#if RL_MASKS

#if RL_WIDTH == 16
typedef __mmask16 Lanes;
RL_INLINE Floats load_lanes(Lanes lanes, const float* p) { return _mm512_maskz_loadu_ps(lanes, p); }
RL_INLINE Floats load_lanes(Lanes lanes, const float* p, Floats others) {
  return _mm512_mask_loadu_ps(others, lanes, p);
}
RL_INLINE void store_lanes(Lanes lanes, float* p, Floats v) { _mm512_mask_storeu_ps(p, lanes, v); }
#else
typedef __mmask8 Lanes;
RL_INLINE Floats load_lanes(Lanes lanes, const float* p) { return _mm256_maskz_loadu_ps(lanes, p); }
RL_INLINE Floats load_lanes(Lanes lanes, const float* p, Floats others) {
  return _mm256_mask_loadu_ps(others, lanes, p);
}
RL_INLINE void store_lanes(Lanes lanes, float* p, Floats v) { _mm256_mask_storeu_ps(p, lanes, v); }
#endif

// Returns a mask of the first n lanes, 0 <= n <= kWidth.
RL_INLINE Lanes first_lanes(int64_t n) { return static_cast<Lanes>((1u << n) - 1); }

// Copies n floats, 0 <= n < 2 * kWidth.
RL_INLINE void copy_few(float* to, const float* from, int64_t n) {
  if (n >= kWidth) {
    store(to, load(from));
    to += kWidth, from += kWidth, n -= kWidth;
  }
  const Lanes lanes = first_lanes(n);
  store_lanes(lanes, to, load_lanes(lanes, from));
}

// Loads the first n floats, 0 < n <= kWidth. The other lanes are `fill`.
RL_INLINE Floats load_few(const float* p, int64_t n, float fill = 0.0f) {
  return load_lanes(first_lanes(n), p, splat(fill));
}
RL_INLINE void store_few(float* p, Floats v, int64_t n) { store_lanes(first_lanes(n), p, v); }

#else

// Copies n floats, 0 <= n < 2 * kWidth.
RL_INLINE void copy_few(float* to, const float* from, int64_t n) {
  if (n >= kWidth) {
    store(to, load(from));
    to += kWidth, from += kWidth, n -= kWidth;
  }
  if constexpr (kWidth > 8) {
    if (n & 8) {
      __builtin_memcpy(to, from, 32);
      to += 8, from += 8;
    }
  }
  if constexpr (kWidth > 4) {
    if (n & 4) {
      __builtin_memcpy(to, from, 16);
      to += 4, from += 4;
    }
  }
  if (n & 2) {
    __builtin_memcpy(to, from, 8);
    to += 2, from += 2;
  }
  if (n & 1) *to = *from;
}

#if defined(__AVX2__) && RL_WIDTH == 8
inline constexpr int32_t kLaneMasks[2 * kWidth] = {-1, -1, -1, -1, -1, -1, -1, -1};

// Loads the first n floats, 0 < n <= kWidth. The other lanes are `fill`.
RL_INLINE Floats load_few(const float* p, int64_t n, float fill = 0.0f) {
  const Ints lanes = *reinterpret_cast<const UnalignedInts*>(kLaneMasks + kWidth - n);
  const Floats v = _mm256_maskload_ps(p, (__m256i)lanes);
  return __builtin_constant_p(fill) && fill == 0.0f ? v : select(lanes, v, splat(fill));
}
#else
// Loads the first n floats, 0 < n <= kWidth. The other lanes are `fill`.
RL_INLINE Floats load_few(const float* p, int64_t n, float fill = 0.0f) {
  alignas(kWidth * 4) float lanes[kWidth];
  *reinterpret_cast<Floats*>(lanes) = splat(fill);
  copy_few(lanes, p, n);
  return *reinterpret_cast<Floats*>(lanes);
}
#endif

RL_INLINE void store_few(float* p, Floats v, int64_t n) {
  alignas(kWidth * 4) float lanes[kWidth];
  *reinterpret_cast<Floats*>(lanes) = v;
  copy_few(p, lanes, n);
}

#endif

template <int Half, int... I>
RL_INLINE Floats halves_swapped(Floats v, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(v, v, (I ^ Half)...);
}

// Reduces all lanes with f, combining the two halves of the vector first. All lanes of the result are equal.
template <int Half = kWidth / 2, typename Function>
RL_INLINE Floats across(Floats v, const Function& f) {
  v = f(v, halves_swapped<Half>(v, std::make_integer_sequence<int, kWidth>{}));
  if constexpr (Half > 1) {
    return across<Half / 2>(v, f);
  } else {
    return v;
  }
}

template <int... I>
RL_INLINE Floats first_lanes_of(Floats v, int64_t n, std::integer_sequence<int, I...>) {
  return select(Ints{I...} < splat_int(static_cast<int32_t>(n)), v, Floats{});
}
// Returns the first n lanes of v, 0 <= n <= kWidth. The other lanes are 0.
RL_INLINE Floats first_lanes_of(Floats v, int64_t n) {
  return first_lanes_of(v, n, std::make_integer_sequence<int, kWidth>{});
}

// Adds the lanes pairwise, in an order that depends only on the width.
RL_INLINE float sum(Floats v) {
  return across(v, [](Floats a, Floats b) { return a + b; })[0];
}
// Returns the largest lane. If a lane is NaN, returns NaN.
RL_INLINE float max_of(Floats v) {
  return across(v, [](Floats a, Floats b) { return select((a > b) | (a != a), a, b); })[0];
}
// Returns the smallest lane. If a lane is NaN, returns NaN.
RL_INLINE float min_of(Floats v) {
  return across(v, [](Floats a, Floats b) { return select((a < b) | (a != a), a, b); })[0];
}

}  // namespace rushlight::microkernels::RL_ISA
