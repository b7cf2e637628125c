#include "microkernels/tables/bf16_pairs.h"

#include <cstring>

#include "core/cpu_features.h"
#include "microkernels/tables/isas.h"
#include "microkernels/tables/selected.h"

namespace rushlight::microkernels {

#if RL_HAS_AVX512
namespace avx512bf16_pairs {
extern const Bf16PairMicrokernels table, amx_table;
}
#endif

const Bf16PairMicrokernels* bf16_pair_microkernels(const F32Microkernels& kernels) {
#if RL_HAS_AVX512
  const CpuFeatures& features = cpu_features();
  if (is_selected("f16") && features.avx512bf16 && &kernels == f32_microkernels_named("avx512")) {
    const char* const wanted = wanted_isa();
    if (features.avx512amx && (!wanted || std::strcmp(wanted, "avx512amx") == 0)) return &avx512bf16_pairs::amx_table;
    if (features.avx512bf16_is_fast) return &avx512bf16_pairs::table;
  }
#endif
  static_cast<void>(kernels);
  return nullptr;
}

}  // namespace rushlight::microkernels
