#define RL_ISA rvv256_integer
#include "microkernels/elementwise/impl/integer.h"

namespace rushlight::microkernels::rvv256_integer {

extern const IntegerMicrokernels table = make_integer_table("rvv256");

}  // namespace rushlight::microkernels::rvv256_integer
