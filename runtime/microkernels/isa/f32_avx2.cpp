#define RL_ISA avx2
#define RL_WIDTH 8
#include "microkernels/tables/impl/f32.h"

namespace rushlight::microkernels::avx2 {

extern const F32Microkernels table = make_table("avx2");

}  // namespace rushlight::microkernels::avx2
