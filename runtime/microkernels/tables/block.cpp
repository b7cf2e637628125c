#include "microkernels/tables/block.h"

#include "microkernels/tables/int8.h"
#include "microkernels/tables/isas.h"

namespace rushlight::microkernels {

#if RL_HAS_AVX2
namespace avx2_blocks {
extern const BlockMicrokernels table;
}
namespace avxvnni_blocks {
extern const BlockMicrokernels table;
}
#endif
#if RL_HAS_AVX512
namespace avx512_blocks {
extern const BlockMicrokernels table;
}
namespace avx512vnni_blocks {
extern const BlockMicrokernels table;
}
#endif

const BlockMicrokernels* block_microkernels(const F32Microkernels& kernels) {
#if RL_HAS_AVX2
  if (&kernels == f32_microkernels_named("avx2"))
    return int8_microkernels_named("avxvnni") ? &avxvnni_blocks::table : &avx2_blocks::table;
#endif
#if RL_HAS_AVX512
  if (&kernels == f32_microkernels_named("avx512")) {
    return int8_microkernels_named("avx512vnni") ? &avx512vnni_blocks::table : &avx512_blocks::table;
  }
#endif
  static_cast<void>(kernels);
  return nullptr;
}

}  // namespace rushlight::microkernels
