#define RL_ISA rvv
#define RL_WIDTH 4
#include "microkernels/tables/impl/f32.h"

namespace rushlight::microkernels::rvv {

extern const F32Microkernels table = make_table("rvv");

}  // namespace rushlight::microkernels::rvv
