// Int8 sums of depthwise convolutions, in namespace rushlight::microkernels::RL_ISA. That namespace defines kLanes,
// Sums and, if RL_PAIRS is defined, add_pair().
#pragma once

#include <cstring>

#include "microkernels/gemm/impl/int8_epilogue.h"
#include "microkernels/simd/inline.h"
#include "microkernels/tables/int8.h"

namespace rushlight::microkernels::RL_ISA {

#if !defined(RL_PAIRS)
// Adds the products of two taps in kLanes channels.
RL_INLINE void add_pair(Sums& sums, const uint8_t* first, const uint8_t* second, uint8_t sign_mask,
                        const int16_t* weights) {
  for (int l = 0; l < kLanes; ++l) {
    sums[l] += static_cast<int8_t>(first[l] ^ sign_mask) * weights[2 * l] +
               static_cast<int8_t>(second[l] ^ sign_mask) * weights[2 * l + 1];
  }
}
#endif

// Computes `Vectors` vectors of channels, from channel `c` on.
template <int Vectors>
RL_INLINE void sum_channels(const Int8Channels& n, const uint8_t* const* pixels, int64_t c, int32_t* sums) {
  Sums acc[Vectors];
  RL_UNROLL for (int v = 0; v < Vectors; ++v) acc[v] = Sums{};
  const int16_t* weights = n.weights + 2 * c;
  for (int64_t t = 0; t < n.taps; t += 2, weights += 2 * n.channels) {
    const uint8_t* const first = pixels[t] + c;
    const uint8_t* const second = pixels[t + 1 < n.taps ? t + 1 : t] + c;
    RL_UNROLL for (int v = 0; v < Vectors; ++v) {
      add_pair(acc[v], first + v * kLanes, second + v * kLanes, n.sign_mask, weights + 2 * v * kLanes);
    }
  }
  RL_UNROLL for (int v = 0; v < Vectors; ++v) std::memcpy(sums + c + v * kLanes, &acc[v], sizeof(Sums));
}

static void channel_sums(const Int8Channels& n, int64_t pixels) {
  for (int64_t i = 0; i < pixels; ++i) {
    const uint8_t* const* const from = n.pixels + i * n.taps;
    int32_t* const sums = n.sums + i * n.channels;
    int64_t c = 0;
    for (; c + 4 * kLanes <= n.channels; c += 4 * kLanes) sum_channels<4>(n, from, c, sums);
    for (; c + kLanes <= n.channels; c += kLanes) sum_channels<1>(n, from, c, sums);
    for (; c < n.channels; ++c) {
      int32_t sum = 0;
      for (int64_t t = 0; t < n.taps; ++t) {
        sum += static_cast<int8_t>(from[t][c] ^ n.sign_mask) * n.weights[(t / 2 * n.channels + c) * 2 + t % 2];
      }
      sums[c] = sum;
    }
  }
}

}  // namespace rushlight::microkernels::RL_ISA
