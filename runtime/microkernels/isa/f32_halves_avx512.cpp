#define RL_ISA avx512halves
#define RL_WIDTH 8
#include "microkernels/gemm/impl/f32_half_panel.h"

namespace rushlight::microkernels::avx512halves {

extern const F32HalfMicrokernels table = make_half_table();

}  // namespace rushlight::microkernels::avx512halves
