#define RL_ISA avx512
#define RL_WIDTH 16
#include "microkernels/tables/impl/f32.h"

namespace rushlight::microkernels::avx512 {

extern const F32Microkernels table = make_table("avx512");

}  // namespace rushlight::microkernels::avx512
