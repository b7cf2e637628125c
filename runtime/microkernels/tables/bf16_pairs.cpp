#include "microkernels/tables/bf16_pairs.h"

namespace rushlight::microkernels {

#if defined(__x86_64__) || defined(__i386__)
namespace avx512bf16_pairs {
extern const Bf16PairMicrokernels table;
}
#endif

const Bf16PairMicrokernels* bf16_pair_microkernels(const F32Microkernels& kernels) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  if (&kernels == f32_microkernels_named("avx512") && __builtin_cpu_supports("avx512bf16"))
    return &avx512bf16_pairs::table;
#endif
  static_cast<void>(kernels);
  return nullptr;
}

}  // namespace rushlight::microkernels
