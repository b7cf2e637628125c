#include "kernels/optimized/tiles/block_tiles.h"
#include "kernels/optimized/tiles/byte_tiles.h"

namespace rushlight::tiles {

#if defined(__x86_64__) || defined(__i386__)
namespace avx2_blocks {
extern const BlockTiles tiles;
}
namespace avxvnni_blocks {
extern const BlockTiles tiles;
}
namespace avx512_blocks {
extern const BlockTiles tiles;
}
namespace avx512vnni_blocks {
extern const BlockTiles tiles;
}
#endif

const BlockTiles* block_tiles(const Tiles& tiles) {
#if defined(__x86_64__) || defined(__i386__)
  if (&tiles == tiles_named("avx2")) return byte_tiles_named("avxvnni") ? &avxvnni_blocks::tiles : &avx2_blocks::tiles;
  if (&tiles == tiles_named("avx512")) {
    return byte_tiles_named("avx512vnni") ? &avx512vnni_blocks::tiles : &avx512_blocks::tiles;
  }
#endif
  static_cast<void>(tiles);
  return nullptr;
}

}  // namespace rushlight::tiles
