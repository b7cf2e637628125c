// Products with weights whose neighbours have small sums: 255 times such a sum, and so the sum of their products with
// uint8, fits 16 bits, and instructions that saturate there are exact.
#pragma once

#include "microkernels/tables/int8.h"

namespace rushlight::microkernels {

inline constexpr int kMostSmallSum = 128;

// What has sums of no more than that, in columns that are packed in groups of four. Pairs: the first two and the last
// two numbers of a group. Quads: the positive ones, and the negative ones, of two such pairs, of one place in the first
// and second group, in the third and fourth, and so on.
enum class SmallSums : uint8_t { None, Pairs, Quads };

// The set for such weights on the machine of `tiles`, or null if that is no faster. Its LHS numbers are unsigned; both
// have the same packed weights.
const Int8Microkernels* small_sum_microkernels(const Int8Microkernels& kernels, SmallSums sums);
// Those of a matrix as pack_rhs() packs it for such a set.
SmallSums small_sums(const Int8Microkernels& set, const void* packed, int64_t n, int64_t k);

}  // namespace rushlight::microkernels
