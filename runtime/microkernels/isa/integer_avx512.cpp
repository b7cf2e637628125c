#define RL_ISA avx512_integer
#include "microkernels/elementwise/impl/integer.h"

namespace rushlight::microkernels::avx512_integer {

extern const IntegerMicrokernels table = make_integer_table("avx512");

}  // namespace rushlight::microkernels::avx512_integer
