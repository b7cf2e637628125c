// Int8 sums of grouped convolutions with small groups, in namespace rushlight::microkernels::RL_ISA. That namespace
// defines the names that tables/impl/int8.h needs, and kUnit: the number of adjacent input channels of a group that
// one lane of add_products() multiplies.
#pragma once

#include <cstring>

#include "microkernels/gemm/impl/int8_dots.h"
#include "microkernels/simd/inline.h"
#include "microkernels/tables/int8.h"
#include "microkernels/tables/selected.h"

namespace rushlight::microkernels::RL_ISA {

inline constexpr int kUnitBytes = kUnit * sizeof(Lhs);

// Computes `Pixels` adjacent output pixels, from output pixel `first` on. If Repeated is true, the input was repeated
// by repeat_groups(). Otherwise all lanes belong to the same group.
template <bool Repeated, int Pixels>
RL_INLINE void sum_group_tile(const Int8GroupLine& line, int64_t first) {
  constexpr int kStep = Repeated ? kLanes * kUnit : kUnit;
  Sums acc[Pixels];
  RL_UNROLL for (int i = 0; i < Pixels; ++i) acc[i] = Sums{};
  const int8_t* rhs = line.rhs;
  const int64_t step = line.pixel_step;
  for (int64_t tap = 0; tap < line.taps; ++tap) {
    const uint8_t* from = line.pixels[tap] + first * step;
    for (int64_t unit = 0; unit < line.units; ++unit, rhs += kLanes * kUnit, from += kStep * sizeof(Lhs)) {
      const auto weights = load_rhs(rhs);
      RL_UNROLL for (int i = 0; i < Pixels; ++i) {
        const Lhs* const numbers = reinterpret_cast<const Lhs*>(from + i * step);
        if constexpr (Repeated) {
          add_lines(acc[i], load_line(numbers), weights);
        } else {
          add_products(acc[i], spread(numbers), weights);
        }
      }
    }
  }
  RL_UNROLL for (int i = 0; i < Pixels; ++i) { *reinterpret_cast<Sums*>(line.sums + (first + i) * kLanes) = acc[i]; }
}

// The last tile of a line may overlap the tile before it.
template <bool Repeated>
static void sum_group_pixels(const Int8GroupLine& line, int64_t pixels) {
  constexpr int kMax = kIsCompact ? 4 : 8;
  if (pixels >= kMax) {
    for (int64_t i = 0; i < pixels; i += kMax) {
      sum_group_tile<Repeated, kMax>(line, i + kMax <= pixels ? i : pixels - kMax);
    }
  } else if (!kIsCompact && pixels >= 4) {
    sum_group_tile<Repeated, 4>(line, 0);
    if (pixels > 4) sum_group_tile<Repeated, 4>(line, pixels - 4);
  } else {
    for (int64_t i = 0; i < pixels; ++i) sum_group_tile<Repeated, 1>(line, i);
  }
}

static void group_sums(const Int8GroupLine& line, int64_t pixels) {
  if constexpr (kLanes > 4) {
    if (line.is_repeated) return sum_group_pixels<true>(line, pixels);
  }
  sum_group_pixels<false>(line, pixels);
}

// Writes each unit of a group of `Size` channels once for each output channel of the group.
template <int Size>
static void repeat_units(const Int8GroupPixels& groups, int64_t pixels) {
  typedef uint32_t Units __attribute__((vector_size(Size * 4)));
  constexpr int kUnits = Size / kUnit;
  const uint8_t* from = groups.from;
  const int64_t step = groups.from_step;
  uint8_t* to = groups.to;
  for (int64_t p = 0; p < pixels; ++p, from += step, to += kUnits * kLanes * 4) {
    RL_UNROLL for (int g = 0; g < kLanes / Size; ++g) {
      RL_UNROLL for (int u = 0; u < kUnits; ++u) {
        uint32_t unit;
        std::memcpy(&unit, from + (g * kUnits + u) * 4, sizeof(unit));
        const Units units = unit - Units{};
        std::memcpy(to + (u * kLanes + g * Size) * 4, &units, sizeof(units));
      }
    }
  }
}

static void repeat_groups(const Int8GroupPixels& groups, int64_t pixels) {
  static_assert(kLanes <= 4 || kUnitBytes == 4, "a lane multiplies units of four bytes");
  if constexpr (kLanes > 8) {
    if (groups.size == 8) return repeat_units<8>(groups, pixels);
  }
  if constexpr (kLanes > 4) repeat_units<4>(groups, pixels);
}

}  // namespace rushlight::microkernels::RL_ISA
