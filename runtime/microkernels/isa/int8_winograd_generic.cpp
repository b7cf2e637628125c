#define RL_ISA generic_winograd
#define RL_LANES 4
#define RL_ROWS 4
#include "microkernels/simd/int16_vectors.h"
// Needs the names that the include above defines.
#include "microkernels/winograd/impl/int8.h"

namespace rushlight::microkernels::generic_winograd {

extern const Int8WinogradMicrokernels loops = make_int8_winograd();

}  // namespace rushlight::microkernels::generic_winograd
