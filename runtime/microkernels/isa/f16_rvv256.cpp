#define RL_ISA rvv256_f16
#define RL_WIDTH 8
#include "microkernels/elementwise/impl/f16.h"

namespace rushlight::microkernels::rvv256_f16 {

extern const F16Microkernels table = make_f16_table("rvv256");

}  // namespace rushlight::microkernels::rvv256_f16
