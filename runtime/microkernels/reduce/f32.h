// Sums of the rows of a float32 matrix.
#pragma once

#include <cstdint>

#include "microkernels/tables/f32.h"

namespace rushlight::microkernels {

// y[j] = sum over i < rows of x[i * stride + j], j < n. Partial sums of about kTermsOfSum rows are added in
// float64.
void sum_rows(const F32Microkernels& kernels, const float* x, int64_t stride, int64_t rows, float* y, int64_t n);

}  // namespace rushlight::microkernels
