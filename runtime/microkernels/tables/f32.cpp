#include "microkernels/tables/f32.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "core/cpu_features.h"
#include "microkernels/tables/isas.h"
#include "rushlight/platform/platform.h"

#if RL_HAS_RVV
#include "microkernels/simd/vectors_rvv.h"
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#endif

namespace rushlight::microkernels {

namespace generic {
extern const F32Microkernels table;
}
#if RL_HAS_AVX2
namespace avx2 {
extern const F32Microkernels table;
}
#endif
#if RL_HAS_AVX512
namespace avx512 {
extern const F32Microkernels table;
}
#endif
#if RL_HAS_NEON
namespace neon {
extern const F32Microkernels table;
}
#endif
#if RL_HAS_RVV
namespace rvv {
extern const F32Microkernels table;
}
namespace rvv256 {
extern const F32Microkernels table;
}
#endif
#if RUSHLIGHT_STAND_INS
namespace wide {
extern const F32Microkernels table;
}
#endif

namespace {

#if RL_HAS_RVV
bool has_vectors(int bits) {
#if defined(__linux__)
  constexpr unsigned long kVectors = 1ul << ('V' - 'A');
  static const int own = getauxval(AT_HWCAP) & kVectors ? vector_bits() : 0;
#elif defined(__riscv_vector)
  static const int own = vector_bits();
#else
  constexpr int own = 0;
#endif
  return own >= bits;
}
#endif

// The int8 tables without a float32 table of the same name, each with the float32 table for the same processors.
constexpr struct {
  const char* bytes;
  const char* floats;
} kFloats[] = {{"avx512amx", "avx512"},
               {"avx512vnni", "avx512"},
               {"avxvnni", "avx2"},
               {"neon_i8mm", "neon"},
               {"neon_dotprod", "neon"}};

// All values that RUSHLIGHT_ISA may have, on any machine.
constexpr const char* kNames[] = {
    "generic", "avx2",         "avxvnni",   "avx512", "avx512vnni", "avx512amx",
    "neon",    "neon_dotprod", "neon_i8mm", "rvv",    "rvv256",
#if RUSHLIGHT_STAND_INS
    "wide",    "fours",
#endif
};

const char* read_wanted_isa() {
  const char* const wanted = std::getenv("RUSHLIGHT_ISA");
  if (wanted == nullptr || *wanted == '\0') return nullptr;
  for (const char* name : kNames) {
    if (std::strcmp(wanted, name) == 0) return name;
  }
  RL_LOG(
      Warning,
      "RUSHLIGHT_ISA=%.40s names no instruction set and has no effect; the names are generic, avx2, avxvnni, avx512, "
      "avx512vnni, avx512amx, neon, neon_dotprod, neon_i8mm, rvv and rvv256",
      wanted);
  return nullptr;
}

const F32Microkernels* choose() {
  if (const char* wanted = wanted_isa()) {
    for (const auto& set : kFloats) {
      if (std::strcmp(wanted, set.bytes) == 0) wanted = set.floats;
    }
    if (const F32Microkernels* set = f32_microkernels_named(wanted)) return set;
  }
  for (const char* name : {"avx512", "avx2", "neon", "rvv256", "rvv"}) {
    if (const F32Microkernels* set = f32_microkernels_named(name)) return set;
  }
  return &generic::table;
}

}  // namespace

const char* wanted_isa() {
  static const char* const wanted = read_wanted_isa();
  return wanted;
}

const F32Microkernels* f32_microkernels_named(const char* name) {
#if RL_HAS_AVX512
  if (std::strcmp(name, "avx512") == 0) return cpu_features().avx512 ? &avx512::table : nullptr;
#endif
#if RL_HAS_AVX2
  if (std::strcmp(name, "avx2") == 0) return cpu_features().avx2 ? &avx2::table : nullptr;
#endif
#if RL_HAS_NEON
  if (std::strcmp(name, "neon") == 0) return &neon::table;
#endif
#if RL_HAS_RVV
  if (std::strcmp(name, "rvv256") == 0) return has_vectors(256) ? &rvv256::table : nullptr;
  if (std::strcmp(name, "rvv") == 0) return has_vectors(128) ? &rvv::table : nullptr;
#endif
#if RUSHLIGHT_STAND_INS
  if (std::strcmp(name, "wide") == 0) return &wide::table;
#endif
  if (std::strcmp(name, "generic") == 0) return &generic::table;
  return nullptr;
}

const F32Microkernels& f32_microkernels() {
  static const F32Microkernels* const chosen = choose();
  return *chosen;
}

}  // namespace rushlight::microkernels
