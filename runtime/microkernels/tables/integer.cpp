#include "microkernels/tables/integer.h"

#include <cstring>

namespace rushlight::microkernels {

namespace generic_integer {
extern const IntegerMicrokernels table;
}
#if defined(__x86_64__) || defined(__i386__)
#define RL_X86 1
namespace avx2_integer {
extern const IntegerMicrokernels table;
}
namespace avx512_integer {
extern const IntegerMicrokernels table;
}
#elif defined(__aarch64__)
namespace neon_integer {
extern const IntegerMicrokernels table;
}
#elif RUSHLIGHT_RVV
namespace rvv_integer {
extern const IntegerMicrokernels table;
}
namespace rvv256_integer {
extern const IntegerMicrokernels table;
}
#endif

const IntegerMicrokernels* integer_microkernels_named(const char* name) {
  if (f32_microkernels_named(name) == nullptr) return nullptr;
#if RL_X86
  if (std::strcmp(name, "avx512") == 0) return &avx512_integer::table;
  if (std::strcmp(name, "avx2") == 0) return &avx2_integer::table;
#elif defined(__aarch64__)
  if (std::strcmp(name, "neon") == 0) return &neon_integer::table;
#elif RUSHLIGHT_RVV
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
