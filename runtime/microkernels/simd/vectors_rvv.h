#pragma once

namespace rushlight::microkernels {

// Bits of a vector register of RISC-V's vectors 1.0; 0 of drafts, which have other instructions. Asks only processors
// that have vectors.
int vector_bits();

}  // namespace rushlight::microkernels
