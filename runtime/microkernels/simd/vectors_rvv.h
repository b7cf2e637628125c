#pragma once

namespace rushlight::microkernels {

// Returns the bits of a vector register of RISC-V's vector extension 1.0, or 0 for the draft versions, whose
// instructions differ. Call it only on processors with vectors.
int vector_bits();

}  // namespace rushlight::microkernels
