#define RL_ISA rvv_winograd
#define RL_LANES 4
#define RL_ROWS 8
#include "microkernels/simd/int16_vectors.h"
// Needs the names that the include above defines.
#include "microkernels/winograd/impl/int8.h"

namespace rushlight::microkernels::rvv_winograd {

extern const Int8WinogradMicrokernels loops = make_int8_winograd();

}  // namespace rushlight::microkernels::rvv_winograd
