#define RL_ISA avx2_f16
#define RL_WIDTH 8
#include "microkernels/elementwise/impl/f16.h"

namespace rushlight::microkernels::avx2_f16 {

extern const F16Microkernels table = make_f16_table("avx2");

}  // namespace rushlight::microkernels::avx2_f16
