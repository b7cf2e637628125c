#define RL_ISA neon
#define RL_WIDTH 4
#include "microkernels/tables/impl/f32.h"

namespace rushlight::microkernels::neon {

extern const F32Microkernels table = make_table("neon");

}  // namespace rushlight::microkernels::neon
