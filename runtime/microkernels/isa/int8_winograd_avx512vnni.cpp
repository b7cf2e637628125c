#define RL_ISA avx512vnni_winograd
#define RL_VNNI 1

#include "microkernels/simd/int16_sums_avx512.h"
// Needs the names that the include above defines.
#include "microkernels/winograd/impl/int8.h"

namespace rushlight::microkernels::RL_ISA {

extern const Int8WinogradMicrokernels loops = make_int8_winograd();

}  // namespace rushlight::microkernels::RL_ISA
