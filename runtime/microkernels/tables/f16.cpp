#include "microkernels/tables/f16.h"

#include <cstring>

#include "microkernels/tables/isas.h"

namespace rushlight::microkernels {

namespace generic_f16 {
extern const F16Microkernels table;
}
#if RL_HAS_AVX2
namespace avx2_f16 {
extern const F16Microkernels table;
}
#endif
#if RL_HAS_AVX512
namespace avx512_f16 {
extern const F16Microkernels table;
}
#endif
#if RL_HAS_NEON
namespace neon_f16 {
extern const F16Microkernels table;
}
#endif
#if RL_HAS_RVV
namespace rvv_f16 {
extern const F16Microkernels table;
}
namespace rvv256_f16 {
extern const F16Microkernels table;
}
#endif

const F16Microkernels* f16_microkernels_named(const char* name) {
  if (f32_microkernels_named(name) == nullptr) return nullptr;
#if RL_HAS_AVX512
  if (std::strcmp(name, "avx512") == 0) return &avx512_f16::table;
#endif
#if RL_HAS_AVX2
  if (std::strcmp(name, "avx2") == 0) return &avx2_f16::table;
#endif
#if RL_HAS_NEON
  if (std::strcmp(name, "neon") == 0) return &neon_f16::table;
#endif
#if RL_HAS_RVV
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
