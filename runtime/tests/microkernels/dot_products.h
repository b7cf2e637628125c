#pragma once

#include <vector>

#include "microkernels/tables/bf16_pairs.h"
#include "microkernels/tables/int8.h"

namespace rushlight::microkernels {

// Sets that this processor runs but for their vpdpbusd between registers. From the first call on that is carried out
// for it: slowly, in a handler of SIGILL. Any other unknown instruction ends the program.
std::vector<const Int8Microkernels*> assisted_sets();
// The same for AVX-512's vdpbf16ps: null if this processor has it, or no AVX-512.
const Bf16PairMicrokernels* assisted_pairs();

}  // namespace rushlight::microkernels
