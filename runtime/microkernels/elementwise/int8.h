// Sums and products of two int8 tensors.
#pragma once

#include <cstdint>

#include "microkernels/tables/int8.h"

namespace rushlight::microkernels {

// Returns the argument `offset` of Int8Loops::add() for operands with these zero points and factors.
inline float sum_offset(int32_t a_zero, int32_t b_zero, float a_factor, float b_factor) {
  return -(static_cast<float>(a_zero) * a_factor + static_cast<float>(b_zero) * b_factor);
}

// A sum (a - a_zero) * a_factor + (b - b_zero) * b_factor, or a product (a - a_zero) * (b - b_zero) * a_factor, rounded
// to nearest, ties to even, and clamped to `range`.
struct Int8Binary {
  bool multiplies = false;
  int32_t a_zero = 0, b_zero = 0;
  float a_factor = 1, b_factor = 1;
  Int8Range range{};

  // Computes n results elementwise; `to` may be the memory of an operand.
  void run(const int8_t* a, const int8_t* b, int64_t n, int8_t* to) const {
    const Int8Loops& loops = int8_microkernels().loops;
    if (multiplies) {
      loops.multiply(a, b, n, a_zero, b_zero, a_factor, range, to);
    } else {
      loops.add(a, b, n, a_factor, b_factor, sum_offset(a_zero, b_zero, a_factor, b_factor), range, to);
    }
  }
};

}  // namespace rushlight::microkernels
