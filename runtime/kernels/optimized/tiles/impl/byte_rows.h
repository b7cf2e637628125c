// What becomes of rows of sums, in namespace rushlight::tiles::RL_TILES_ISA, which has kLanes and, if RL_TILES_NARROW
// is defined, store_narrow(uint8_t* to, Sums): the low bytes of kLanes sums.
#pragma once

#include <cstring>

#include "kernels/optimized/tiles/byte_tiles.h"
#include "kernels/optimized/tiles/impl/inline.h"

namespace rushlight::tiles::RL_TILES_ISA {

typedef int32_t Lanes __attribute__((vector_size(kLanes * 4)));
typedef float Reals __attribute__((vector_size(kLanes * 4)));
typedef int32_t LooseLanes __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));
typedef float LooseReals __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));

RL_INLINE Lanes load_lanes(const int32_t* p) { return *reinterpret_cast<const LooseLanes*>(p); }
RL_INLINE Reals load_reals(const float* p) { return *reinterpret_cast<const LooseReals*>(p); }

#if defined(RL_TILES_NARROW)
using Narrowed = Sums;
#else
using Narrowed = Lanes;
RL_INLINE void store_narrow(uint8_t* to, Lanes x) {
  typedef uint8_t Narrow __attribute__((vector_size(kLanes)));
  typedef uint8_t LooseNarrow __attribute__((vector_size(kLanes), aligned(1), may_alias));
  *reinterpret_cast<LooseNarrow*>(to) = __builtin_convertvector(x, Narrow);
}
#endif

// Added to a number of less than 2^22, it rounds it to an integer, which the low bits then hold.
inline constexpr float kRounding = 12582912.0f;
inline constexpr int32_t kRoundingBits = 0x4b400000;

template <bool Corrected, bool Offset>
static void requantize_rows(const Requantize& how, const SumRows& r, uint8_t* out) {
  const float least = static_cast<float>(how.least - how.zero), most = static_cast<float>(how.most - how.zero);
  const int32_t zero = how.zero - kRoundingBits;
  const Reals lowest = least - Reals{}, highest = most - Reals{};
  int64_t j = 0;
  for (; j + kLanes <= r.columns; j += kLanes) {
    Lanes correction{};
    Reals offset{};
    if constexpr (Corrected) correction = load_lanes(how.correction + j);
    if constexpr (Offset) offset = load_reals(how.offset + j);
    const Reals multiplier = load_reals(how.multiplier + j);
    const int32_t* sums = r.sums + j;
    uint8_t* to = out + j;
    for (int64_t i = 0; i < r.rows; ++i, sums += r.sums_stride, to += r.out_stride) {
      Reals x = __builtin_convertvector(load_lanes(sums) + correction, Reals) * multiplier + offset;
      x = x > lowest ? x : lowest;
      x = x < highest ? x : highest;
      store_narrow(to, Narrowed(reinterpret_cast<Lanes>(x + kRounding) + zero));
    }
  }
  for (; j < r.columns; ++j) {
    for (int64_t i = 0; i < r.rows; ++i) {
      float x = static_cast<float>(r.sums[i * r.sums_stride + j] + (Corrected ? how.correction[j] : 0));
      x = x * how.multiplier[j] + (Offset ? how.offset[j] : 0.0f);
      x = x > least ? x : least;
      x = (x < most ? x : most) + kRounding;
      int32_t bits;
      std::memcpy(&bits, &x, sizeof(bits));
      out[i * r.out_stride + j] = static_cast<uint8_t>(bits + zero);
    }
  }
}

static void requantize(const Requantize& how, const SumRows& rows, uint8_t* out) {
  if (how.correction && how.offset) return requantize_rows<true, true>(how, rows, out);
  if (how.correction) return requantize_rows<true, false>(how, rows, out);
  if (how.offset) return requantize_rows<false, true>(how, rows, out);
  requantize_rows<false, false>(how, rows, out);
}

static void dequantize(const Dequantize& how, const SumRows& r, float* out) {
  const Reals least = how.least - Reals{}, most = how.most - Reals{};
  int64_t j = 0;
  for (; j + kLanes <= r.columns; j += kLanes) {
    const Lanes right_sums = load_lanes(how.right_sums + j);
    const Reals multiplier = load_reals(how.multiplier + j);
    const Reals offset = how.offset ? load_reals(how.offset + j) : Reals{};
    for (int64_t i = 0; i < r.rows; ++i) {
      const int32_t zero = how.zeros[i * how.step] + how.zero_offset;
      const Lanes sum = load_lanes(r.sums + i * r.sums_stride + j) - zero * right_sums;
      Reals x = __builtin_convertvector(sum, Reals) * (how.scales[i * how.step] * multiplier) + offset;
      if (how.accumulate) x += load_reals(out + i * r.out_stride + j);
      x = x < least ? least : x;
      *reinterpret_cast<LooseReals*>(out + i * r.out_stride + j) = x > most ? most : x;
    }
  }
  for (; j < r.columns; ++j) {
    for (int64_t i = 0; i < r.rows; ++i) {
      const int32_t zero = how.zeros[i * how.step] + how.zero_offset;
      const float sum = static_cast<float>(r.sums[i * r.sums_stride + j] - zero * how.right_sums[j]);
      float x = sum * (how.scales[i * how.step] * how.multiplier[j]) + (how.offset ? how.offset[j] : 0.0f);
      if (how.accumulate) x += out[i * r.out_stride + j];
      x = x < how.least ? how.least : x;
      out[i * r.out_stride + j] = x > how.most ? how.most : x;
    }
  }
}

}  // namespace rushlight::tiles::RL_TILES_ISA
