#include "microkernels/tables/bf16_pairs.h"

#include "core/cpu_features.h"

namespace rushlight::microkernels {

#if defined(__x86_64__) || defined(__i386__)
namespace avx512bf16_pairs {
extern const Bf16PairMicrokernels table;
}
#endif

const Bf16PairMicrokernels* bf16_pair_microkernels(const F32Microkernels& kernels) {
#if defined(__x86_64__) || defined(__i386__)
  if (cpu_features().avx512bf16 && &kernels == f32_microkernels_named("avx512")) return &avx512bf16_pairs::table;
#endif
  static_cast<void>(kernels);
  return nullptr;
}

}  // namespace rushlight::microkernels
