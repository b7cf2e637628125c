// Means of int8 numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/rounding.h"
#include "microkernels/tables/int8.h"

namespace rushlight::microkernels {

// Computes means over the middle dimension: [outer, count, channels] becomes [outer, channels].
struct Int8Mean {
  static constexpr int64_t kMaxCount = INT32_MAX / 256;  // a sum of this many numbers fits into int32

  int64_t outer = 0, count = 0, channels = 0;
  int32_t zero = 0;    // zero point of the input
  Int8Range range{};   // range and zero point of the results
  float factor = 1;    // scale of the input divided by the scale of the output
  int64_t pieces = 1;  // number of parts that the channels are divided into

  // Chooses the number of pieces for `workers` workers.
  void divide_for(int64_t workers) { pieces = outer >= workers || channels < 64 ? 1 : workers; }
  // Returns the number of parts of the result: `pieces` for each element of the outer dimension.
  int64_t parts() const { return outer * pieces; }
  // Returns the bytes of scratch memory of each worker, a multiple of 64.
  size_t worker_bytes() const { return static_cast<size_t>(3 * 4 * round_up(channels, 16)); }
  // Computes parts [begin, end) of the result. `scratch` is aligned to 64 bytes.
  void run(const int8_t* in, uint8_t* out, int64_t begin, int64_t end, void* scratch) const {
    const Int8Microkernels& t = int8_microkernels();
    int32_t* const sums = static_cast<int32_t*>(scratch);
    int32_t* const corrections = sums + channels;
    float* const multipliers = reinterpret_cast<float*>(corrections + channels);
    std::fill_n(corrections, channels, static_cast<int32_t>(-zero * count));
    std::fill_n(multipliers, channels, factor / static_cast<float>(std::max<int64_t>(count, 1)));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / pieces, piece = i % pieces;
      const int64_t first = channels * piece / pieces, n = channels * (piece + 1) / pieces - first;
      std::memset(sums, 0, static_cast<size_t>(n) * sizeof(int32_t));
      t.loops.add_rows(in + row * count * channels + first, count, channels, n, sums);
      t.requantize({corrections, multipliers, nullptr, range.zero, range.least, range.most}, {sums, n, 1, n, n},
                   out + row * channels + first);
    }
  }
};

}  // namespace rushlight::microkernels
