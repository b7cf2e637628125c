// Vectors of 16 floats, as in AVX-512, on AVX2.
#if defined(__x86_64__)
#define RL_ISA wide
#define RL_WIDTH 16
#include "microkernels/tables/impl/f32.h"

namespace rushlight::microkernels::wide {

extern const F32Microkernels table = make_table("wide");

}  // namespace rushlight::microkernels::wide

#endif
