#include "microkernels/tables/block.h"

#include "microkernels/tables/int8.h"

namespace rushlight::microkernels {

#if defined(__x86_64__) || defined(__i386__)
namespace avx2_blocks {
extern const BlockMicrokernels table;
}
namespace avxvnni_blocks {
extern const BlockMicrokernels table;
}
namespace avx512_blocks {
extern const BlockMicrokernels table;
}
namespace avx512vnni_blocks {
extern const BlockMicrokernels table;
}
#endif

const BlockMicrokernels* block_microkernels(const F32Microkernels& kernels) {
#if defined(__x86_64__) || defined(__i386__)
  if (&kernels == f32_microkernels_named("avx2"))
    return int8_microkernels_named("avxvnni") ? &avxvnni_blocks::table : &avx2_blocks::table;
  if (&kernels == f32_microkernels_named("avx512")) {
    return int8_microkernels_named("avx512vnni") ? &avx512vnni_blocks::table : &avx512_blocks::table;
  }
#endif
  static_cast<void>(kernels);
  return nullptr;
}

}  // namespace rushlight::microkernels
