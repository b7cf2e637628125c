#include "microkernels/tables/integer.h"

#include <cstring>

#include "microkernels/tables/isas.h"

namespace rushlight::microkernels {

namespace generic_integer {
extern const IntegerMicrokernels table;
}
#if RL_HAS_AVX2
namespace avx2_integer {
extern const IntegerMicrokernels table;
}
#endif
#if RL_HAS_AVX512
namespace avx512_integer {
extern const IntegerMicrokernels table;
}
#endif
#if RL_HAS_NEON
namespace neon_integer {
extern const IntegerMicrokernels table;
}
#endif
#if RL_HAS_RVV
namespace rvv_integer {
extern const IntegerMicrokernels table;
}
namespace rvv256_integer {
extern const IntegerMicrokernels table;
}
#endif

const IntegerMicrokernels* integer_microkernels_named(const char* name) {
  if (f32_microkernels_named(name) == nullptr) return nullptr;
#if RL_HAS_AVX512
  if (std::strcmp(name, "avx512") == 0) return &avx512_integer::table;
#endif
#if RL_HAS_AVX2
  if (std::strcmp(name, "avx2") == 0) return &avx2_integer::table;
#endif
#if RL_HAS_NEON
  if (std::strcmp(name, "neon") == 0) return &neon_integer::table;
#endif
#if RL_HAS_RVV
  if (std::strcmp(name, "rvv256") == 0) return &rvv256_integer::table;
  if (std::strcmp(name, "rvv") == 0) return &rvv_integer::table;
#endif
  return std::strcmp(name, "generic") == 0 ? &generic_integer::table : nullptr;
}

const IntegerMicrokernels& integer_microkernels() {
  static const IntegerMicrokernels* const chosen = integer_microkernels_named(f32_microkernels().name);
  return chosen ? *chosen : generic_integer::table;
}

}  // namespace rushlight::microkernels
