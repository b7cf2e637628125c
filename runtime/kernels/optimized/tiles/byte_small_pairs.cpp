#include "kernels/optimized/tiles/byte_small_pairs.h"

#include <algorithm>

namespace rushlight::tiles {

#if defined(__x86_64__) || defined(__i386__)
namespace small_pairs_bytes {
ByteTiles tiles_over(const ByteTiles& base);
}
#endif

const ByteTiles* small_pair_tiles(const ByteTiles& tiles) {
#if defined(__x86_64__) || defined(__i386__)
  if (&tiles == byte_tiles_named("avx2")) {
    static const ByteTiles set = small_pairs_bytes::tiles_over(tiles);
    return &set;
  }
#endif
  static_cast<void>(tiles);
  return nullptr;
}

bool has_small_pairs(const int8_t* panels, int64_t count) {
  int least = 0, most = 0;
  for (int64_t i = 0; i + 1 < count; i += 2) {
    const int sum = panels[i] + panels[i + 1];
    least = std::min(least, sum);
    most = std::max(most, sum);
  }
  return least >= -kMostPair && most <= kMostPair;
}

}  // namespace rushlight::tiles
