#define RL_ISA rvv256
#define RL_WIDTH 8
#include "microkernels/tables/impl/f32.h"

namespace rushlight::microkernels::rvv256 {

extern const F32Microkernels table = make_table("rvv256");

}  // namespace rushlight::microkernels::rvv256
