#define RL_ISA generic_integer
#include "microkernels/elementwise/impl/integer.h"

namespace rushlight::microkernels::generic_integer {

extern const IntegerMicrokernels table = make_integer_table("generic");

}  // namespace rushlight::microkernels::generic_integer
