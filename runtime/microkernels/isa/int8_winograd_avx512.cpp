#define RL_ISA avx512_winograd
#define RL_VNNI 0

#include "microkernels/simd/int16_sums_avx512.h"
// After the sums that it is made of.
#include "microkernels/winograd/impl/int8.h"

namespace rushlight::microkernels::RL_ISA {

extern const Int8WinogradMicrokernels loops = make_int8_winograd();

}  // namespace rushlight::microkernels::RL_ISA
