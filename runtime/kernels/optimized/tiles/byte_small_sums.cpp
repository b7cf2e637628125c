#include "kernels/optimized/tiles/byte_small_sums.h"

#include <algorithm>

#include "kernels/optimized/tiles/byte_product.h"

namespace rushlight::tiles {

#if defined(__x86_64__) || defined(__i386__)
namespace small_sums_bytes {
ByteTiles pairs_over(const ByteTiles& base);
ByteTiles quads_over(const ByteTiles& base);
SmallSums sums_of_panel(const int8_t* panel, int64_t groups, int64_t width);
}  // namespace small_sums_bytes
#endif

const ByteTiles* small_sum_tiles(const ByteTiles& tiles, SmallSums sums) {
#if defined(__x86_64__) || defined(__i386__)
  if (sums != SmallSums::None && &tiles == byte_tiles_named("avx2")) {
    static const ByteTiles pairs = small_sums_bytes::pairs_over(tiles), quads = small_sums_bytes::quads_over(tiles);
    return sums == SmallSums::Quads ? &quads : &pairs;
  }
#endif
  static_cast<void>(tiles), static_cast<void>(sums);
  return nullptr;
}

SmallSums small_sums(const ByteTiles& set, const void* packed, int64_t n, int64_t k) {
  SmallSums found = SmallSums::None;
#if defined(__x86_64__) || defined(__i386__)
  found = SmallSums::Quads;
  const int64_t groups = (k + set.group - 1) / set.group, step = column_step(set);
  const int8_t* panel = panels_of(packed, n);
  for (int64_t column = 0; column < n && found != SmallSums::None; column += step) {
    const int64_t width = (std::min(step, n - column) + set.lanes - 1) / set.lanes * set.lanes;
    found = std::min(found, small_sums_bytes::sums_of_panel(panel, groups, width));
    panel += groups * set.group * width;
  }
#else
  static_cast<void>(set), static_cast<void>(packed), static_cast<void>(n), static_cast<void>(k);
#endif
  return found;
}

}  // namespace rushlight::tiles
