#define RL_ISA neon_f16
#define RL_WIDTH 4
#include "microkernels/elementwise/impl/f16.h"

namespace rushlight::microkernels::neon_f16 {

extern const F16Microkernels table = make_f16_table("neon");

}  // namespace rushlight::microkernels::neon_f16
