#include <cstring>

#include "kernels/optimized/tiles/half_tiles.h"

namespace rushlight::tiles {

namespace generic_half {
extern const HalfTiles tiles;
}
#if defined(__x86_64__) || defined(__i386__)
#define RL_TILES_X86 1
namespace avx2_half {
extern const HalfTiles tiles;
}
namespace avx512_half {
extern const HalfTiles tiles;
}
#elif defined(__aarch64__)
namespace neon_half {
extern const HalfTiles tiles;
}
#elif RUSHLIGHT_RVV
namespace rvv_half {
extern const HalfTiles tiles;
}
namespace rvv256_half {
extern const HalfTiles tiles;
}
#endif

const HalfTiles* half_tiles_named(const char* name) {
  if (tiles_named(name) == nullptr) return nullptr;
#if RL_TILES_X86
  if (std::strcmp(name, "avx512") == 0) return &avx512_half::tiles;
  if (std::strcmp(name, "avx2") == 0) return &avx2_half::tiles;
#elif defined(__aarch64__)
  if (std::strcmp(name, "neon") == 0) return &neon_half::tiles;
#elif RUSHLIGHT_RVV
  if (std::strcmp(name, "rvv256") == 0) return &rvv256_half::tiles;
  if (std::strcmp(name, "rvv") == 0) return &rvv_half::tiles;
#endif
  return std::strcmp(name, "generic") == 0 ? &generic_half::tiles : nullptr;
}

const HalfTiles& half_tiles() {
  static const HalfTiles* const chosen = half_tiles_named(tiles().name);
  return chosen ? *chosen : generic_half::tiles;
}

}  // namespace rushlight::tiles
