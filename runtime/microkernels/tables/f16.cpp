#include "microkernels/tables/f16.h"

#include <cstring>

namespace rushlight::microkernels {

namespace generic_f16 {
extern const F16Microkernels table;
}
#if defined(__x86_64__) || defined(__i386__)
#define RL_X86 1
namespace avx2_f16 {
extern const F16Microkernels table;
}
namespace avx512_f16 {
extern const F16Microkernels table;
}
#elif defined(__aarch64__)
namespace neon_f16 {
extern const F16Microkernels table;
}
#elif RUSHLIGHT_RVV
namespace rvv_f16 {
extern const F16Microkernels table;
}
namespace rvv256_f16 {
extern const F16Microkernels table;
}
#endif

const F16Microkernels* f16_microkernels_named(const char* name) {
  if (f32_microkernels_named(name) == nullptr) return nullptr;
#if RL_X86
  if (std::strcmp(name, "avx512") == 0) return &avx512_f16::table;
  if (std::strcmp(name, "avx2") == 0) return &avx2_f16::table;
#elif defined(__aarch64__)
  if (std::strcmp(name, "neon") == 0) return &neon_f16::table;
#elif RUSHLIGHT_RVV
  if (std::strcmp(name, "rvv256") == 0) return &rvv256_f16::table;
  if (std::strcmp(name, "rvv") == 0) return &rvv_f16::table;
#endif
  return std::strcmp(name, "generic") == 0 ? &generic_f16::table : nullptr;
}

const F16Microkernels& f16_microkernels() {
  static const F16Microkernels* const chosen = f16_microkernels_named(f32_microkernels().name);
  return chosen ? *chosen : generic_f16::table;
}

}  // namespace rushlight::microkernels
