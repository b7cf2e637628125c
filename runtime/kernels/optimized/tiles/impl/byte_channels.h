// Sums channel by channel, in namespace rushlight::tiles::RL_TILES_ISA, which has kLanes.
#pragma once

#include <cstring>

#include "kernels/optimized/tiles/byte_tiles.h"
#include "kernels/optimized/tiles/impl/byte_rows.h"
#include "kernels/optimized/tiles/impl/inline.h"

namespace rushlight::tiles::RL_TILES_ISA {

typedef uint8_t LaneBytes __attribute__((vector_size(kLanes)));
typedef int8_t SignedLaneBytes __attribute__((vector_size(kLanes)));
typedef uint8_t LooseLaneBytes __attribute__((vector_size(kLanes), aligned(1), may_alias));

RL_INLINE Lanes widen(const uint8_t* p, LaneBytes flip) {
  const LaneBytes bytes = *reinterpret_cast<const LooseLaneBytes*>(p) ^ flip;
  return __builtin_convertvector(reinterpret_cast<SignedLaneBytes>(bytes), Lanes);
}

// `Vectors` vectors of channels from `c` on.
template <int Vectors>
RL_INLINE void sum_channels(const ByteChannels& n, const uint8_t* const* pixels, int64_t c, LaneBytes flip,
                            int32_t* sums) {
  Lanes acc[Vectors];
  RL_UNROLL for (int v = 0; v < Vectors; ++v) acc[v] = Lanes{};
  const int32_t* weights = n.weights + c;
  for (int64_t t = 0; t < n.taps; ++t, weights += n.channels) {
    RL_UNROLL for (int v = 0; v < Vectors; ++v) {
      acc[v] += widen(pixels[t] + c + v * kLanes, flip) * load_lanes(weights + v * kLanes);
    }
  }
  RL_UNROLL for (int v = 0; v < Vectors; ++v) * reinterpret_cast<LooseLanes*>(sums + c + v * kLanes) = acc[v];
}

static void channel_sums(const ByteChannels& n, int64_t pixels) {
  const LaneBytes flip = n.flip - LaneBytes{};
  for (int64_t i = 0; i < pixels; ++i) {
    const uint8_t* const* const from = n.pixels + i * n.taps;
    int32_t* const sums = n.sums + i * n.channels;
    int64_t c = 0;
    for (; c + 4 * kLanes <= n.channels; c += 4 * kLanes) sum_channels<4>(n, from, c, flip, sums);
    for (; c + kLanes <= n.channels; c += kLanes) sum_channels<1>(n, from, c, flip, sums);
    for (; c < n.channels; ++c) {
      int32_t sum = 0;
      for (int64_t t = 0; t < n.taps; ++t) {
        sum += static_cast<int8_t>(from[t][c] ^ n.flip) * n.weights[t * n.channels + c];
      }
      sums[c] = sum;
    }
  }
}

}  // namespace rushlight::tiles::RL_TILES_ISA
