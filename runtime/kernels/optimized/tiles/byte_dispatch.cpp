#include <cstring>

#include "kernels/optimized/tiles/byte_tiles.h"
#include "kernels/optimized/tiles/tiles.h"

#if defined(__x86_64__) || defined(__i386__)
#define RL_TILES_X86 1
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace rushlight::tiles {

namespace generic_bytes {
extern const ByteTiles tiles;
}
#if RL_TILES_X86
namespace avx2_bytes {
extern const ByteTiles tiles;
}
namespace avxvnni_bytes {
extern const ByteTiles tiles;
}
namespace avx512_bytes {
extern const ByteTiles tiles;
}
namespace avx512vnni_bytes {
extern const ByteTiles tiles;
}
#elif defined(__aarch64__)
namespace neon_bytes {
extern const ByteTiles tiles;
}
namespace neon_dotprod_bytes {
extern const ByteTiles tiles;
}
namespace neon_i8mm_bytes {
extern const ByteTiles tiles;
}
#elif RUSHLIGHT_RVV
namespace rvv_bytes {
extern const ByteTiles tiles;
}
namespace rvv256_bytes {
extern const ByteTiles tiles;
}
#endif
#if RUSHLIGHT_STAND_INS
namespace fours_bytes {
extern const ByteTiles tiles;
}
#endif

namespace {

#if RL_TILES_X86
bool has_avx2() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
}
// Leaf 7, subleaf 1: EAX bit 4. Compilers before GCC 11 do not know its name. Asked once: a virtual machine takes
// microseconds to answer.
bool has_avxvnni() {
  static const bool own = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return has_avx2() && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1);
  }();
  return own;
}
#elif defined(__aarch64__)
bool has_dotprod() {
#if defined(__linux__)
  constexpr unsigned long kDotProduct = 1ul << 20;  // HWCAP_ASIMDDP
  return getauxval(AT_HWCAP) & kDotProduct;
#elif defined(__ARM_FEATURE_DOTPROD)
  return true;
#else
  return false;
#endif
}
bool has_i8mm() {
#if defined(__linux__)
  constexpr unsigned long kMatrices = 1ul << 13;  // HWCAP2_I8MM
  return has_dotprod() && getauxval(AT_HWCAP2) & kMatrices;
#elif defined(__ARM_FEATURE_MATMUL_INT8)
  return has_dotprod();
#else
  return false;
#endif
}
#endif

struct Entry {
  const char* name;
  const ByteTiles* (*find)();
};

// The best first.
constexpr Entry kEntries[] = {
#if RL_TILES_X86
    {"avx512vnni",
     +[]() -> const ByteTiles* {
       return has_avx512() && __builtin_cpu_supports("avx512vnni") ? &avx512vnni_bytes::tiles : nullptr;
     }},
    {"avxvnni", +[]() -> const ByteTiles* { return has_avxvnni() ? &avxvnni_bytes::tiles : nullptr; }},
    {"avx512", +[]() -> const ByteTiles* { return has_avx512() ? &avx512_bytes::tiles : nullptr; }},
    {"avx2", +[]() -> const ByteTiles* { return has_avx2() ? &avx2_bytes::tiles : nullptr; }},
#elif defined(__aarch64__)
    {"neon_i8mm", +[]() -> const ByteTiles* { return has_i8mm() ? &neon_i8mm_bytes::tiles : nullptr; }},
    {"neon_dotprod", +[]() -> const ByteTiles* { return has_dotprod() ? &neon_dotprod_bytes::tiles : nullptr; }},
    {"neon", +[]() -> const ByteTiles* { return &neon_bytes::tiles; }},
#elif RUSHLIGHT_RVV
    {"rvv256", +[]() -> const ByteTiles* { return tiles_named("rvv256") ? &rvv256_bytes::tiles : nullptr; }},
    {"rvv", +[]() -> const ByteTiles* { return tiles_named("rvv") ? &rvv_bytes::tiles : nullptr; }},
#endif
    {"generic", +[]() -> const ByteTiles* { return &generic_bytes::tiles; }},
#if RUSHLIGHT_STAND_INS
    {"fours", +[]() -> const ByteTiles* { return &fours_bytes::tiles; }},
#endif
};

const ByteTiles* choose() {
  if (const char* wanted = wanted_isa()) {
    if (const ByteTiles* set = byte_tiles_named(wanted)) return set;
  }
  for (const Entry& entry : kEntries) {
    if (const ByteTiles* set = entry.find()) return set;
  }
  return &generic_bytes::tiles;
}

}  // namespace

const ByteTiles* byte_tiles_named(const char* name) {
  for (const Entry& entry : kEntries) {
    if (std::strcmp(name, entry.name) == 0) return entry.find();
  }
  return nullptr;
}

const ByteTiles& byte_tiles() {
  static const ByteTiles* const chosen = choose();
  return *chosen;
}

}  // namespace rushlight::tiles
