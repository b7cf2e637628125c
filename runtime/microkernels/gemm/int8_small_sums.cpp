#include "microkernels/gemm/int8_small_sums.h"

#include <algorithm>

#include "microkernels/gemm/int8.h"
#include "microkernels/tables/isas.h"

namespace rushlight::microkernels {

#if RL_HAS_AVX2
namespace small_sums_int8 {
Int8Microkernels pairs_over(const Int8Microkernels& base);
Int8Microkernels quads_over(const Int8Microkernels& base);
SmallSums sums_of_panel(const int8_t* panel, int64_t groups, int64_t width);
}  // namespace small_sums_int8
#endif

const Int8Microkernels* small_sum_microkernels(const Int8Microkernels& kernels, SmallSums sums) {
#if RL_HAS_AVX2
  if (sums != SmallSums::None && &kernels == int8_microkernels_named("avx2")) {
    static const Int8Microkernels pairs = small_sums_int8::pairs_over(kernels),
                                  quads = small_sums_int8::quads_over(kernels);
    return sums == SmallSums::Quads ? &quads : &pairs;
  }
#endif
  static_cast<void>(kernels), static_cast<void>(sums);
  return nullptr;
}

SmallSums small_sums(const Int8Microkernels& set, const void* packed, int64_t n, int64_t k) {
  SmallSums found = SmallSums::None;
#if RL_HAS_AVX2
  found = SmallSums::Quads;
  const int64_t groups = (k + set.group - 1) / set.group, step = column_step(set);
  const int8_t* panel = panels_of(packed, n);
  for (int64_t column = 0; column < n && found != SmallSums::None; column += step) {
    const int64_t width = (std::min(step, n - column) + set.lanes - 1) / set.lanes * set.lanes;
    found = std::min(found, small_sums_int8::sums_of_panel(panel, groups, width));
    panel += groups * set.group * width;
  }
#else
  static_cast<void>(set), static_cast<void>(packed), static_cast<void>(n), static_cast<void>(k);
#endif
  return found;
}

}  // namespace rushlight::microkernels
