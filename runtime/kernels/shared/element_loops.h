#pragma once

#include <cstdint>

#include "kernels/shared/complex.h"

namespace rushlight {

// Loops over contiguous elements that compilers vectorize. The result may be the memory of an operand.

enum class BitOp : uint8_t { And, Or, Xor };

// y[i] = op(a[i], b[i]) for n bytes.
void combine_bits(BitOp op, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n);
// y[i] = x[i] != 0 for n bytes.
void find_nonzero(const uint8_t* x, uint8_t* y, int64_t n);

// y[i] = remainder_of(a[i], b[i]), or floor_remainder(a[i], b[i]) with `floor`.
void float_remainders(bool floor, const float* a, const float* b, float* y, int64_t n);

// y[i] = a[i] * b[i]. As in eager PyTorch, products of infinite numbers may be NaN.
void multiply_complex(const ComplexFloat* a, const ComplexFloat* b, ComplexFloat* y, int64_t n);

}  // namespace rushlight
