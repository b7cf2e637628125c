// Products with weights whose neighbours have small sums: 255 times such a sum, and so the sum of their products with
// uint8, fits 16 bits, and instructions that saturate there are exact.
#pragma once

#include "microkernels/tables/int8.h"

namespace rushlight::microkernels {

inline constexpr int kMostSmallSum = 128;

// Which sums of neighbours are at most kMostSmallSum, in columns that are packed in groups of four. Pairs: the sums of
// the first two and of the last two numbers of each group. Quads: for two such pairs that have the same place in the
// first and second group (or the third and fourth, and so on), the sums of the positive and of the negative numbers.
enum class SmallSums : uint8_t { None, Pairs, Quads };

// Returns the microkernels for such weights on the machine of `kernels`, or null if they are no faster. They take an
// LHS of unsigned numbers; all their packed weights are alike.
const Int8Microkernels* small_sum_microkernels(const Int8Microkernels& kernels, SmallSums sums);
// Returns which small sums a matrix [k, n] has that pack_rhs() packed for such a set.
SmallSums small_sums(const Int8Microkernels& set, const void* packed, int64_t n, int64_t k);

}  // namespace rushlight::microkernels
