#define RL_ISA rvv_integer
#include "microkernels/elementwise/impl/integer.h"

namespace rushlight::microkernels::rvv_integer {

extern const IntegerMicrokernels table = make_integer_table("rvv");

}  // namespace rushlight::microkernels::rvv_integer
