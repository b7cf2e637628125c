#include "microkernels/winograd/int8.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "microkernels/gemm/int8.h"
#include "microkernels/tables/isas.h"

namespace rushlight::microkernels {

namespace generic_winograd {
extern const Int8WinogradMicrokernels loops;
}
#if RL_HAS_AVX2
namespace avx2_winograd {
extern const Int8WinogradMicrokernels loops;
}
namespace avxvnni_winograd {
extern const Int8WinogradMicrokernels loops;
}
#endif
#if RL_HAS_AVX512
namespace avx512_winograd {
extern const Int8WinogradMicrokernels loops;
}
namespace avx512vnni_winograd {
extern const Int8WinogradMicrokernels loops;
}
#endif
#if RL_HAS_RVV
namespace rvv_winograd {
extern const Int8WinogradMicrokernels loops;
}
namespace rvv256_winograd {
extern const Int8WinogradMicrokernels loops;
}
#endif

namespace {

#if RL_HAS_AVX2 || RL_HAS_AVX512
// Returns the transforms of one table together with the products of another table.
Int8WinogradMicrokernels joined(const Int8WinogradMicrokernels& transforms, const Int8WinogradMicrokernels& products) {
  Int8WinogradMicrokernels set = transforms;
  set.gemm = products.gemm;
  return set;
}
#endif
#if RL_HAS_AVX2
const Int8WinogradMicrokernels* joined_avxvnni() {
  static const Int8WinogradMicrokernels set = joined(avx2_winograd::loops, avxvnni_winograd::loops);
  return &set;
}
#endif
#if RL_HAS_AVX512
const Int8WinogradMicrokernels* joined_avx512vnni() {
  static const Int8WinogradMicrokernels set = joined(avx512_winograd::loops, avx512vnni_winograd::loops);
  return &set;
}
#endif

constexpr int64_t kMaxColumns = 64;

constexpr int64_t kNumbers = 4;  // number of numbers of a column that are transformed at a time

// Copies four numbers of each of `across` columns from groups of two or four to groups of two.
void to_pairs(const int8_t* from, int group, int64_t across, int8_t* to) {
  uint16_t pairs[2 * kMaxColumns], apart[2 * kMaxColumns];
  const size_t bytes = static_cast<size_t>(kNumbers * across);
  if (group == 2) {
    std::memcpy(to, from, bytes);
    return;
  }
  std::memcpy(pairs, from, bytes);
  for (int64_t j = 0; j < across; ++j) apart[j] = pairs[2 * j];
  for (int64_t j = 0; j < across; ++j) apart[across + j] = pairs[2 * j + 1];
  std::memcpy(to, apart, bytes);
}

int64_t panel_width(const Int8Microkernels& kernels, int64_t n, int64_t column) {
  const int64_t rest = (n - column + kernels.lanes - 1) / kernels.lanes * kernels.lanes;
  return std::min(column_step(kernels), rest);
}

}  // namespace

const Int8WinogradMicrokernels* int8_winograd_microkernels(const Int8Microkernels& kernels) {
#if RL_HAS_AVX2
  if (&kernels == int8_microkernels_named("avx2")) return &avx2_winograd::loops;
  if (&kernels == int8_microkernels_named("avxvnni")) return joined_avxvnni();
#endif
#if RL_HAS_AVX512
  if (&kernels == int8_microkernels_named("avx512")) return &avx512_winograd::loops;
  if (&kernels == int8_microkernels_named("avx512vnni")) return joined_avx512vnni();
#endif
#if RL_HAS_RVV
  if (&kernels == int8_microkernels_named("rvv256")) return &rvv256_winograd::loops;
  if (&kernels == int8_microkernels_named("rvv")) return &rvv_winograd::loops;
#endif
#if !RL_HAS_AVX2  // x86-64 processors without AVX2 are rare, and use int8 GEMMs
  if (&kernels == int8_microkernels_named("generic")) return &generic_winograd::loops;
#endif
  return nullptr;
}

int best_winograd(const Int8Microkernels& kernels, const Int8WinogradShape& s) {
  if (int8_winograd_microkernels(kernels) == nullptr || s.channels % (2 * kernels.lanes) != 0) return 0;
  // Costs relative to one instruction that multiplies pairs of numbers: read a transformed weight, transform an input,
  // transform an output, gather a pixel. An instruction that multiplies groups of four costs the same as one for pairs.
  constexpr double kWeight = 20, kInput = 6, kOutput = 14, kGather = 2, kGain = 0.85;
  const double direct = 2.0 / kernels.group;
  const double channels = static_cast<double>(s.channels), outputs = static_cast<double>(s.outputs);
  const double pixels = static_cast<double>(s.images * s.height * s.width);
  double least = kGain * direct * 9 * channels * pixels * (outputs + kGather);
  int best = 0;
  for (const int m : {4, 2}) {
    const double count = static_cast<double>(s.images * ((s.height + m - 1) / m) * ((s.width + m - 1) / m));
    const double cost =
        (m + 2) * (m + 2) * (channels * outputs * (count + kWeight) + count * (kInput * channels + kOutput * outputs));
    if (cost >= least) continue;
    least = cost;
    best = m;
  }
  return best;
}

int64_t largest_magnitude(const Int8Microkernels& kernels, const void* packed, int64_t n, int64_t channels) {
  const int64_t depth = 9 * channels, group = kernels.group;
  const int8_t* from = panels_of(packed, n);
  int64_t largest = 0;
  for (int64_t column = 0; column < n; column += column_step(kernels)) {
    const int64_t width = panel_width(kernels, n, column);
    int32_t sums[4 * kMaxColumns] = {};
    for (int64_t k = 0; k < depth; k += group, from += group * width) {
      for (int64_t j = 0; j < group * width; ++j) sums[j] += std::abs(from[j]);
    }
    for (int64_t j = 0; j < width; ++j) {
      largest = std::max(largest, std::accumulate(sums + group * j, sums + group * (j + 1), int64_t{0}));
    }
  }
  return largest;
}

void pack_winograd_filters(const Int8Microkernels& kernels, int m, const void* packed, int64_t n, int64_t channels,
                           int64_t block, int16_t* to) {
  const int64_t points = (m + 2) * (m + 2), padded = (n + kernels.lanes - 1) / kernels.lanes * kernels.lanes;
  const int8_t* const panels = panels_of(packed, n);
  const Int8WinogradMicrokernels& loops = *int8_winograd_microkernels(kernels);
  for (int64_t column = 0; column < n; column += column_step(kernels)) {
    const int64_t first = column / block * block, width = std::min(block, padded - first);
    const int64_t across = panel_width(kernels, n, column);
    const int8_t* const from = panels + column * 9 * channels;
    int16_t* const panel = to + (first * points + column - first) * channels;
    for (int64_t c = 0; c < channels; c += kNumbers) {
      int8_t pairs[9 * kNumbers * kMaxColumns];
      for (int64_t tap = 0; tap < 9; ++tap) {
        to_pairs(from + (tap * channels + c) * across, kernels.group, across, pairs + tap * kNumbers * across);
      }
      loops.filters(m, pairs, kNumbers * across, kNumbers * across, panel + c * across, width * channels);
    }
  }
}

}  // namespace rushlight::microkernels
