// GCC 12 for riscv64 does not detect that the rest of a row is shorter than a vector, and prints a wrong warning.
#if defined(__riscv) && !defined(__clang__) && __GNUC__ >= 11
#pragma GCC diagnostic ignored "-Warray-bounds"
#pragma GCC diagnostic ignored "-Wstringop-overread"
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif
#define RL_ISA generic
#define RL_WIDTH 4
#include "microkernels/tables/impl/f32.h"

namespace rushlight::microkernels::generic {

extern const F32Microkernels table = make_table("generic");

}  // namespace rushlight::microkernels::generic
