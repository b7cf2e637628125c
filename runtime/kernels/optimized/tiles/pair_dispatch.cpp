#include "kernels/optimized/tiles/pair_tiles.h"

namespace rushlight::tiles {

#if defined(__x86_64__) || defined(__i386__)
namespace avx512bf16_pairs {
extern const PairTiles tiles;
}
#endif

const PairTiles* pair_tiles(const Tiles& tiles) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  if (&tiles == tiles_named("avx512") && __builtin_cpu_supports("avx512bf16")) return &avx512bf16_pairs::tiles;
#endif
  static_cast<void>(tiles);
  return nullptr;
}

}  // namespace rushlight::tiles
