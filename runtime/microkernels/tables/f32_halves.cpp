#include "microkernels/tables/f32_halves.h"

#include "core/cpu_features.h"
#include "microkernels/tables/isas.h"
#include "microkernels/tables/selected.h"

namespace rushlight::microkernels {

#if RL_HAS_AVX512
namespace avx512halves {
extern const F32HalfMicrokernels table;
}
#endif

const F32HalfMicrokernels* f32_half_microkernels_of(const F32Microkernels& kernels) {
#if RL_HAS_AVX512
  if (!kIsSmall && &kernels == f32_microkernels_named("avx512")) return &avx512halves::table;
#endif
  static_cast<void>(kernels);
  return nullptr;
}

const F32HalfMicrokernels* f32_half_microkernels(const F32Microkernels& kernels) {
  return cpu_features().avx512halves ? f32_half_microkernels_of(kernels) : nullptr;
}

}  // namespace rushlight::microkernels
