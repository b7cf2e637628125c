#include "microkernels/simd/vectors_rvv.h"

namespace rushlight::microkernels {

int vector_bits() {
  // Processors with drafts before 1.0 do not support agnostic tails, and report an illegal type.
  long type, bytes;
  asm volatile("vsetvli %0, zero, e8, m1, ta, ma\n\tcsrr %0, vtype" : "=r"(type)::"vl", "vtype");
  if (type < 0) return 0;
  asm volatile("csrr %0, vlenb" : "=r"(bytes));
  return static_cast<int>(bytes * 8);
}

}  // namespace rushlight::microkernels
