// Pairs of bfloat16 in vectors of 16 floats, as in AVX-512, on AVX2.
#if defined(__x86_64__)
#define RL_ISA wide_pairs
#define RL_WIDTH 16
#include "microkernels/simd/f16_types.h"

namespace rushlight::microkernels::wide_pairs {

RL_INLINE void add_pairs(Floats& sums, Words x, Words y) {
  const auto high = [](Words v) { return reinterpret_cast<Floats>(v & 0xffff0000u); };
  const auto low = [](Words v) { return reinterpret_cast<Floats>(v << 16); };
  sums += high(x) * high(y);
  sums += low(x) * low(y);
}

}  // namespace rushlight::microkernels::wide_pairs

#include "microkernels/gemm/impl/bf16_pairs.h"

namespace rushlight::microkernels::wide_pairs {

extern const Bf16PairMicrokernels table = make_bf16_pair_table("wide");

}  // namespace rushlight::microkernels::wide_pairs

#endif
