#pragma once

namespace rushlight::microkernels {

// Returns the number of bits of a vector register of RISC-V's vector extension 1.0, or 0 for its draft versions, whose
// instructions differ. Call this function only on processors with vectors.
int vector_bits();

}  // namespace rushlight::microkernels
