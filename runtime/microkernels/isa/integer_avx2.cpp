#define RL_ISA avx2_integer
#include "microkernels/elementwise/impl/integer.h"

namespace rushlight::microkernels::avx2_integer {

extern const IntegerMicrokernels table = make_integer_table("avx2");

}  // namespace rushlight::microkernels::avx2_integer
