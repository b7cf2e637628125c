#define RL_ISA avx512_f16
#define RL_WIDTH 16
#include "microkernels/elementwise/impl/f16.h"

namespace rushlight::microkernels::avx512_f16 {

extern const F16Microkernels table = make_f16_table("avx512");

}  // namespace rushlight::microkernels::avx512_f16
