// Int8 GEMMs with small weights. If the sum of adjacent weights is small, 255 times this sum fits into 16 bits. The sum
// of their products with uint8 numbers then also fits, and saturating 16-bit instructions are exact.
#pragma once

#include "microkernels/tables/int8.h"

namespace rushlight::microkernels {

inline constexpr int kMaxSmallSum = 128;

// Which sums of adjacent weights are at most kMaxSmallSum. The columns are packed in groups of four numbers. Pairs:
// the sum of the first two numbers and the sum of the last two numbers of each group. Quads: the sums of the positive
// and of the negative numbers in a pair of one group and the pair at the same position of the next group (groups 0 and
// 1, 2 and 3, ...).
enum class SmallSums : uint8_t { None, Pairs, Quads };

// Returns the microkernels for weights with these small sums for the instruction set of `kernels`, or null if they are
// not faster. Their LHS is unsigned, and all of them use the same format of packed weights.
const Int8Microkernels* small_sum_microkernels(const Int8Microkernels& kernels, SmallSums sums);
// Returns which small sums a matrix [k, n] has. It is packed by pack_rhs() for `set`.
SmallSums small_sums(const Int8Microkernels& set, const void* packed, int64_t n, int64_t k);

}  // namespace rushlight::microkernels
