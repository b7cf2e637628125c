#include "kernels/optimized/tiles/byte_winograd.h"

#include <algorithm>
#include <cstdlib>

#include "kernels/optimized/tiles/byte_product.h"

namespace rushlight::tiles {

namespace generic_winograd {
extern const ByteWinogradLoops loops;
}
#if defined(__x86_64__) || defined(__i386__)
namespace avx2_winograd {
extern const ByteWinogradLoops loops;
}
namespace avx512_winograd {
extern const ByteWinogradLoops loops;
}
#elif RUSHLIGHT_RVV
namespace rvv_winograd {
extern const ByteWinogradLoops loops;
}
namespace rvv256_winograd {
extern const ByteWinogradLoops loops;
}
#endif

namespace {

constexpr int64_t kMostColumns = 64;

int64_t panel_width(const ByteTiles& tiles, int64_t n, int64_t column) {
  const int64_t rest = (n - column + tiles.lanes - 1) / tiles.lanes * tiles.lanes;
  return std::min(column_step(tiles), rest);
}

}  // namespace

const ByteWinogradLoops* winograd_loops(const ByteTiles& tiles) {
#if defined(__x86_64__) || defined(__i386__)
  if (&tiles == byte_tiles_named("avx2")) return &avx2_winograd::loops;
  if (&tiles == byte_tiles_named("avx512")) return &avx512_winograd::loops;
#elif RUSHLIGHT_RVV
  if (&tiles == byte_tiles_named("rvv256")) return &rvv256_winograd::loops;
  if (&tiles == byte_tiles_named("rvv")) return &rvv_winograd::loops;
#endif
  return &tiles == byte_tiles_named("generic") ? &generic_winograd::loops : nullptr;
}

int best_winograd(const ByteTiles& tiles, const ByteWinogradShape& s) {
  if (winograd_loops(tiles) == nullptr || s.channels % (2 * tiles.lanes) != 0) return 0;
  // In products of two numbers: reading a transformed weight takes as long as some, and so does each number of the
  // transforms.
  constexpr double kWeight = 20, kInput = 6, kOutput = 14, kGather = 2, kGain = 0.85;
  const double channels = static_cast<double>(s.channels), outputs = static_cast<double>(s.outputs);
  const double pixels = static_cast<double>(s.images * s.height * s.width);
  double least = kGain * 9 * channels * pixels * (outputs + kGather);
  int best = 0;
  for (const int m : {4, 2}) {
    const double count = static_cast<double>(s.images * ((s.height + m - 1) / m) * ((s.width + m - 1) / m));
    const double cost =
        (m + 2) * (m + 2) * (channels * outputs * (count + kWeight) + count * (kInput * channels + kOutput * outputs));
    if (cost >= least) continue;
    least = cost;
    best = m;
  }
  return best;
}

int64_t largest_magnitude(const ByteTiles& tiles, const void* packed, int64_t n, int64_t channels) {
  const int64_t depth = 9 * channels;
  const int8_t* from = panels_of(packed, n);
  int64_t largest = 0;
  for (int64_t column = 0; column < n; column += column_step(tiles)) {
    const int64_t width = panel_width(tiles, n, column);
    int32_t sums[2 * kMostColumns] = {};
    for (int64_t k = 0; k < depth; k += 2, from += 2 * width) {
      for (int64_t j = 0; j < 2 * width; ++j) sums[j] += std::abs(from[j]);
    }
    for (int64_t j = 0; j < width; ++j) largest = std::max<int64_t>(largest, sums[2 * j] + sums[2 * j + 1]);
  }
  return largest;
}

void pack_winograd_filters(const ByteTiles& tiles, int m, const void* packed, int64_t n, int64_t channels,
                           int64_t block, int16_t* to) {
  const int64_t points = (m + 2) * (m + 2), padded = (n + tiles.lanes - 1) / tiles.lanes * tiles.lanes;
  const int8_t* const panels = panels_of(packed, n);
  for (int64_t column = 0; column < n; column += column_step(tiles)) {
    const int64_t first = column / block * block, width = std::min(block, padded - first);
    const int64_t count = channels * panel_width(tiles, n, column);
    winograd_loops(tiles)->filters(m, panels + column * 9 * channels, count, count,
                                   to + (first * points + column - first) * channels, width * channels);
  }
}

}  // namespace rushlight::tiles
