// A software-pipelined tile of 14 rows and two vectors with AVX-512 VNNI, in namespace rushlight::microkernels::RL_ISA.
// While it computes the sums of a tile, it applies the epilogue to the sums of the previous tile. Products use two
// vector units of the processor, and the epilogue mostly uses the others. Their instructions are interleaved, because
// the out-of-order window of the processor is too short to overlap the two parts.
//
// The tile is written in assembly because it uses all 32 registers: 28 for sums, and 4 that products and the epilogue
// use alternately.
#pragma once

#include <cstddef>
#include <new>

#include "microkernels/simd/int8_results_avx512.h"
#include "microkernels/tables/int8.h"

namespace rushlight::microkernels::RL_ISA {

// The parameters of the int8 epilogue of a panel, for all its tiles.
struct ResultsEnd {
  Int8End bytes;
  ColumnEnd columns;
};
static_assert(sizeof(ResultsEnd) <= sizeof(PanelEpilogue) && alignof(ResultsEnd) <= alignof(PanelEpilogue));

static bool prepare_requantize(int vectors, const Requantize& how, int64_t columns, PanelEpilogue* to) {
  const Int8End e = how.sum.others ? int8_end<true>(how) : int8_end<false>(how);
  const ColumnEnd c = vectors == 1 ? column_end<1>(how, columns) : column_end<2>(how, columns);
  new (to->memory) ResultsEnd{e, c};
  return vectors == 2 && c.whole && c.limited && e.limited;
}

RL_INLINE const ResultsEnd& results_end(const PanelEpilogue& panel) {
  return *std::launder(reinterpret_cast<const ResultsEnd*>(panel.memory));
}

// clang-format off

// Assembly operands for the members of a ResultsEnd: byte offsets from its address.
#define RL_ZERO "0(%[end])"
#define RL_LEAST "64(%[end])"
#define RL_MOST "128(%[end])"
#define RL_SIGN_MASK "192(%[end])"
#define RL_ORDER "256(%[end])"
#define RL_OTHER_SIGN_MASK "336(%[end])"
#define RL_LOWEST "384(%[end])"
#define RL_HIGHEST "448(%[end])"
#define RL_MAGIC "512(%[end])"
#define RL_MAGIC_LESS_ZERO "576(%[end])"
#define RL_FACTOR "640(%[end])"
#define RL_OTHER_FACTOR "704(%[end])"
#define RL_SUM_OFFSET "768(%[end])"
#define RL_MULTIPLIER0 "960(%[end])"
#define RL_MULTIPLIER1 "1024(%[end])"
#define RL_OFFSET0 "1088(%[end])"
#define RL_OFFSET1 "1152(%[end])"
static_assert(offsetof(ResultsEnd, bytes.zero) == 0 && offsetof(ResultsEnd, bytes.least) == 64 &&
              offsetof(ResultsEnd, bytes.most) == 128 && offsetof(ResultsEnd, bytes.sign_mask) == 192 &&
              offsetof(ResultsEnd, bytes.order) == 256 && offsetof(ResultsEnd, bytes.other_sign_mask) == 336 &&
              offsetof(ResultsEnd, bytes.lowest) == 384 && offsetof(ResultsEnd, bytes.highest) == 448 &&
              offsetof(ResultsEnd, bytes.magic) == 512 && offsetof(ResultsEnd, bytes.magic_less_zero) == 576 &&
              offsetof(ResultsEnd, bytes.factor) == 640 && offsetof(ResultsEnd, bytes.other_factor) == 704 &&
              offsetof(ResultsEnd, bytes.sum_offset) == 768 && offsetof(ResultsEnd, columns.multiplier) == 960 &&
              offsetof(ResultsEnd, columns.offset) == 1088);

// Further operands of the assembly.
struct PipelinedWork {
  int64_t steps;       // number of steps of the epilogue; each step processes two rows
  int64_t groups;      // number of groups of products between the two halves of a step
  int64_t rest;        // number of groups of the first run after the last step
  int64_t run_groups;  // number of groups of each other run
  int64_t runs;
  int64_t skip;        // bytes from the end of a run to the next one
  int64_t ahead_step;
  const __m512i* first;  // initial sums of all rows
  const int32_t* sums;
  const int8_t* others;
  void* to;
};
#define RL_STEPS "(%[work])"
#define RL_GROUPS "8(%[work])"
#define RL_REST "16(%[work])"
#define RL_RUN_GROUPS "24(%[work])"
#define RL_RUNS "32(%[work])"
#define RL_SKIP "40(%[work])"
#define RL_AHEAD_STEP "48(%[work])"
#define RL_FIRST "56(%[work])"
#define RL_SUMS "64(%[work])"
#define RL_OTHERS "72(%[work])"
#define RL_TO "80(%[work])"
static_assert(offsetof(PipelinedWork, groups) == 8 && offsetof(PipelinedWork, rest) == 16 &&
              offsetof(PipelinedWork, run_groups) == 24 && offsetof(PipelinedWork, runs) == 32 &&
              offsetof(PipelinedWork, skip) == 40 && offsetof(PipelinedWork, ahead_step) == 48 &&
              offsetof(PipelinedWork, first) == 56 && offsetof(PipelinedWork, sums) == 64 &&
              offsetof(PipelinedWork, others) == 72 && offsetof(PipelinedWork, to) == 80);

// Adds products to the sums of one row, which are in registers a and b.
#define RL_ROW(from, a, b)                    \
  "vpbroadcastd " from ", %%zmm30\n"          \
  "vpdpbusd %%zmm28, %%zmm30, %%zmm" #a "\n"  \
  "vpdpbusd %%zmm29, %%zmm30, %%zmm" #b "\n"

// Adds the products of one group for all rows.
#define RL_GROUP                        \
  "vmovdqu64 (%[rhs]), %%zmm28\n"     \
  "vmovdqu64 64(%[rhs]), %%zmm29\n"   \
  "prefetcht1 (%[ahead])\n"             \
  RL_ROW("(%[upper])", 0, 1)            \
  RL_ROW("(%[upper],%[s])", 2, 3)       \
  RL_ROW("(%[upper],%[s],2)", 4, 5)     \
  RL_ROW("(%[upper],%[s3])", 6, 7)      \
  RL_ROW("(%[upper],%[s],4)", 8, 9)     \
  RL_ROW("(%[upper],%[s5])", 10, 11)    \
  RL_ROW("(%[upper],%[s3],2)", 12, 13)  \
  RL_ROW("(%[lower])", 14, 15)          \
  RL_ROW("(%[lower],%[s])", 16, 17)     \
  RL_ROW("(%[lower],%[s],2)", 18, 19)   \
  RL_ROW("(%[lower],%[s3])", 20, 21)    \
  RL_ROW("(%[lower],%[s],4)", 22, 23)   \
  RL_ROW("(%[lower],%[s5])", 24, 25)    \
  RL_ROW("(%[lower],%[s3],2)", 26, 27)  \
  "add " RL_AHEAD_STEP ", %[ahead]\n"   \
  "add $4, %[upper]\n"                  \
  "add $4, %[lower]\n"                  \
  "sub $-128, %[rhs]\n"
// Adds the products of `count` groups.
#define RL_LOOP(label, count)   \
  "mov " count ", %[n]\n"       \
  ".p2align 4\n"                \
  #label ":\n" RL_GROUP         \
  "dec %[n]\n"                  \
  "jnz " #label "b\n"

// Adds the residual at `from` to the numbers in x.
#define RL_ADD_OTHERS(from, x)                        \
  ".if %c[masks]\n"                                   \
  "vmovdqu8 " from ", %%xmm30\n"                      \
  "vpxord " RL_OTHER_SIGN_MASK ", %%xmm30, %%xmm30\n"      \
  "vpmovsxbd %%xmm30, %%zmm30\n"                      \
  ".else\n"                                           \
  "vpmovsxbd " from ", %%zmm30\n"                     \
  ".endif\n"                                          \
  "vcvtdq2ps %%zmm30, %%zmm30\n"                      \
  "vfmadd231ps " RL_OTHER_FACTOR ", %%zmm30, %%" x "\n"

// Scales the sums of a row, which are at offsets `at` and `next`, to int16 numbers in x. y is a temporary register.
#define RL_SCALE(at, next, x, y)                             \
  "vcvtdq2ps " at "(%[sums]), %%" x "\n"                     \
  "vcvtdq2ps " next "(%[sums]), %%" y "\n"                   \
  "vmovaps " RL_OFFSET0 ", %%zmm30\n"                        \
  "vfmadd132ps " RL_MULTIPLIER0 ", %%zmm30, %%" x "\n"       \
  "vmovaps " RL_OFFSET1 ", %%zmm30\n"                        \
  "vfmadd132ps " RL_MULTIPLIER1 ", %%zmm30, %%" y "\n"       \
  ".if %c[summed]\n"                                         \
  "vaddps " RL_MAGIC ", %%" x ", %%" x "\n"                  \
  "vaddps " RL_MAGIC ", %%" y ", %%" y "\n"                  \
  "vpmaxsd " RL_LOWEST ", %%" x ", %%" x "\n"                \
  "vpmaxsd " RL_LOWEST ", %%" y ", %%" y "\n"                \
  "vpminsd " RL_HIGHEST ", %%" x ", %%" x "\n"               \
  "vpminsd " RL_HIGHEST ", %%" y ", %%" y "\n"               \
  "vsubps " RL_MAGIC_LESS_ZERO ", %%" x ", %%" x "\n"        \
  "vsubps " RL_MAGIC_LESS_ZERO ", %%" y ", %%" y "\n"        \
  "vmovaps " RL_SUM_OFFSET ", %%zmm30\n"                     \
  "vfmadd132ps " RL_FACTOR ", %%zmm30, %%" x "\n"            \
  "vfmadd132ps " RL_FACTOR ", %%zmm30, %%" y "\n"            \
  "mov " RL_OTHERS ", %[n]\n"                                \
  RL_ADD_OTHERS("(%[n])", x)                                 \
  RL_ADD_OTHERS("16(%[n])", y)                               \
  "add %[stride], %[n]\n"                                    \
  "mov %[n], " RL_OTHERS "\n"                                \
  ".endif\n"                                                 \
  "vcvtps2dq %%" x ", %%" x "\n"                             \
  "vcvtps2dq %%" y ", %%" y "\n"                             \
  "vpackssdw %%" y ", %%" x ", %%" x "\n"                    \
  "vpaddsw " RL_ZERO ", %%" x ", %%" x "\n"

// The epilogue of two rows, in two parts; zmm31 must be preserved between them.
#define RL_RESULTS_BEGIN RL_SCALE("", "64", "zmm31", "zmm29")
#define RL_RESULTS_END                              \
  RL_SCALE("128", "192", "zmm28", "zmm29")          \
  "vpacksswb %%zmm28, %%zmm31, %%zmm28\n"           \
  "vmovdqa64 " RL_ORDER ", %%zmm30\n"               \
  "vpmaxsb " RL_LEAST ", %%zmm28, %%zmm28\n"        \
  "vpminsb " RL_MOST ", %%zmm28, %%zmm28\n"         \
  "vpxord " RL_SIGN_MASK ", %%zmm28, %%zmm28\n"          \
  "vpermd %%zmm28, %%zmm30, %%zmm28\n"              \
  "add $256, %[sums]\n"                             \
  "mov " RL_TO ", %[n]\n"                           \
  "vmovdqu64 %%ymm28, (%[n])\n"                     \
  "vextracti64x4 $1, %%zmm28, (%[n],%[stride])\n"   \
  "lea (%[n],%[stride],2), %[n]\n"                  \
  "mov %[n], " RL_TO "\n"

#define RL_COPY(a, b) "vmovdqa64 %%zmm0, %%zmm" #a "\nvmovdqa64 %%zmm1, %%zmm" #b "\n"
#define RL_STORE(i) "vmovdqa64 %%zmm" #i ", 64*" #i "(%[sums])\n"

// Computes the sums of tile `t` into t.sums. If `before` is not null, t.sums first contains the sums of the tile of
// `before`.
template <bool Summed, bool Masks>
static void pipelined_sums(const Int8Tile& t, const TileEpilogue& now, const TileEpilogue* before) {
  constexpr int64_t kSteps = 7;
  const int64_t groups = t.groups / (2 * kSteps), steps = before ? kSteps : 0;
  PipelinedWork work{};
  work.steps = steps, work.groups = groups, work.rest = t.groups - 2 * steps * groups;
  work.run_groups = t.groups, work.runs = t.runs, work.skip = t.run_step - t.groups * kGroup;
  work.ahead_step = t.ahead_step, work.first = results_end(*now.panel).columns.correction, work.sums = t.sums;
  if (before) work.others = before->others, work.to = before->out;
  const void* const end = before ? before->panel : nullptr;
  const Lhs *upper = static_cast<const Lhs*>(t.lhs), *lower = upper + t.half_step;
  const int8_t *rhs = t.rhs, *ahead = t.ahead;
  const int32_t* sums = t.sums;
  int64_t n = 0;
  asm volatile(
      "mov " RL_FIRST ", %[n]\n"
      "vmovdqa64 (%[n]), %%zmm0\n"
      "vmovdqa64 64(%[n]), %%zmm1\n"
      RL_COPY(2, 3) RL_COPY(4, 5) RL_COPY(6, 7) RL_COPY(8, 9) RL_COPY(10, 11) RL_COPY(12, 13)
      RL_COPY(14, 15) RL_COPY(16, 17) RL_COPY(18, 19) RL_COPY(20, 21) RL_COPY(22, 23) RL_COPY(24, 25)
      RL_COPY(26, 27)
      "cmpq $0, " RL_STEPS "\n"
      "je 4f\n"
      "1:\n"
      RL_RESULTS_BEGIN
      RL_LOOP(2, RL_GROUPS)
      RL_RESULTS_END
      RL_LOOP(3, RL_GROUPS)
      "decq " RL_STEPS "\n"
      "jnz 1b\n"
      "4:\n"
      "cmpq $0, " RL_REST "\n"
      "je 6f\n"
      RL_LOOP(5, RL_REST)
      "6:\n"
      "decq " RL_RUNS "\n"
      "jz 8f\n"
      "add " RL_SKIP ", %[upper]\n"
      "add " RL_SKIP ", %[lower]\n"
      RL_LOOP(7, RL_RUN_GROUPS)
      "jmp 6b\n"
      "8:\n"
      "mov " RL_SUMS ", %[sums]\n"
      RL_STORE(0) RL_STORE(1) RL_STORE(2) RL_STORE(3) RL_STORE(4) RL_STORE(5) RL_STORE(6) RL_STORE(7)
      RL_STORE(8) RL_STORE(9) RL_STORE(10) RL_STORE(11) RL_STORE(12) RL_STORE(13) RL_STORE(14) RL_STORE(15)
      RL_STORE(16) RL_STORE(17) RL_STORE(18) RL_STORE(19) RL_STORE(20) RL_STORE(21) RL_STORE(22) RL_STORE(23)
      RL_STORE(24) RL_STORE(25) RL_STORE(26) RL_STORE(27)
      "vzeroupper\n"
      : [upper] "+r"(upper), [lower] "+r"(lower), [rhs] "+r"(rhs), [ahead] "+r"(ahead), [sums] "+r"(sums),
        [n] "+r"(n)
      : [s] "r"(t.lhs_stride), [s3] "r"(3 * t.lhs_stride), [s5] "r"(5 * t.lhs_stride), [stride] "r"(now.out_stride),
        [end] "r"(end), [work] "r"(&work), [summed] "i"(Summed), [masks] "i"(Masks)
      : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22",
        "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31");
}

// clang-format on

static void gemm_pipelined(const Int8Tile& tile, const TileEpilogue& end, const TileEpilogue* before) {
  using Pipelined = void (*)(const Int8Tile&, const TileEpilogue&, const TileEpilogue*);
  static constexpr Pipelined added[] = {&pipelined_sums<true, false>, &pipelined_sums<true, true>};
  const Pipelined behind = end.others ? added[end.has_other_mask] : &pipelined_sums<false, false>;
  behind(tile, end, before);
}

template <bool Summed>
RL_INLINE void results_of_sums(const int32_t* sums, const TileEpilogue& end) {
  const ResultsEnd& p = results_end(*end.panel);
  ColumnEnd c = p.columns;
  c.correction[0] = c.correction[1] = __m512i{};
  requantize_columns<2, true, Summed, true>(p.bytes, c, {sums, 32, 14, 32, end.out_stride}, sums, end.others,
                                            static_cast<uint8_t*>(end.out));
}

static void finish_pipelined(const int32_t* sums, const TileEpilogue& end) {
  if (end.others) return results_of_sums<true>(sums, end);
  results_of_sums<false>(sums, end);
}

}  // namespace rushlight::microkernels::RL_ISA
