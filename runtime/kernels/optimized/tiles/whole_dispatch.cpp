#include <cstring>

#include "kernels/optimized/tiles/whole_tiles.h"

namespace rushlight::tiles {

namespace generic_whole {
extern const WholeTiles tiles;
}
#if defined(__x86_64__) || defined(__i386__)
#define RL_TILES_X86 1
namespace avx2_whole {
extern const WholeTiles tiles;
}
namespace avx512_whole {
extern const WholeTiles tiles;
}
#elif defined(__aarch64__)
namespace neon_whole {
extern const WholeTiles tiles;
}
#elif RUSHLIGHT_RVV
namespace rvv_whole {
extern const WholeTiles tiles;
}
namespace rvv256_whole {
extern const WholeTiles tiles;
}
#endif

const WholeTiles* whole_tiles_named(const char* name) {
  if (tiles_named(name) == nullptr) return nullptr;
#if RL_TILES_X86
  if (std::strcmp(name, "avx512") == 0) return &avx512_whole::tiles;
  if (std::strcmp(name, "avx2") == 0) return &avx2_whole::tiles;
#elif defined(__aarch64__)
  if (std::strcmp(name, "neon") == 0) return &neon_whole::tiles;
#elif RUSHLIGHT_RVV
  if (std::strcmp(name, "rvv256") == 0) return &rvv256_whole::tiles;
  if (std::strcmp(name, "rvv") == 0) return &rvv_whole::tiles;
#endif
  return std::strcmp(name, "generic") == 0 ? &generic_whole::tiles : nullptr;
}

const WholeTiles& whole_tiles() {
  static const WholeTiles* const chosen = whole_tiles_named(tiles().name);
  return chosen ? *chosen : generic_whole::tiles;
}

}  // namespace rushlight::tiles
