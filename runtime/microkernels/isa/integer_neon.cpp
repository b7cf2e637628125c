#define RL_ISA neon_integer
#include "microkernels/elementwise/impl/integer.h"

namespace rushlight::microkernels::neon_integer {

extern const IntegerMicrokernels table = make_integer_table("neon");

}  // namespace rushlight::microkernels::neon_integer
