#pragma once

#include <vector>

#include "microkernels/tables/bf16_pairs.h"
#include "microkernels/tables/int8.h"

namespace rushlight::microkernels {

// Returns the sets that this processor runs except for vpdpbusd. After the first call, a handler of SIGILL emulates
// this instruction, slowly. Any other unknown instruction ends the program.
std::vector<const Int8Microkernels*> assisted_sets();
// Does the same for vdpbf16ps of AVX-512. Returns null if this processor has it, or has no AVX-512.
const Bf16PairMicrokernels* assisted_pairs();

}  // namespace rushlight::microkernels
