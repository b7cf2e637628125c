#define RL_ISA generic_int8
#define RL_LANES 4
#define RL_ROWS 4
#include "microkernels/simd/int8_vectors.h"
// Needs the names that the include above defines.
#include "microkernels/tables/impl/int8.h"

namespace rushlight::microkernels::generic_int8 {

extern const Int8Microkernels table = make_int8_table("generic");

}  // namespace rushlight::microkernels::generic_int8
