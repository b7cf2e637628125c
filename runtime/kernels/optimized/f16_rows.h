// Reductions and normalizations of rows of float16 or bfloat16, computed in float32.
#pragma once

#include <cstdint>

#include "microkernels/tables/f16.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::optimized {

// Returns the sum of (x[i] - mean)^2.
double f16_squared_deviations(microkernels::F16Type type, const uint16_t* x, int64_t n, float mean);

// Computes y = (x * scale + shift) * weight + bias. weight and bias [n] may be null. y may be x.
struct F16Affine {
  float scale = 1, shift = 0;
  const float* weight = nullptr;
  const float* bias = nullptr;
};
void f16_affine(microkernels::F16Type type, const F16Affine& affine, const uint16_t* x, uint16_t* y, int64_t n);

// Sets the mean and the reciprocal of the standard deviation of a row.
struct F16Moments {
  float mean, rstd;
};
F16Moments f16_moments(microkernels::F16Type type, const uint16_t* x, int64_t n, double epsilon);

// Returns the elements of a row-major tensor of floats as float32: its own memory, or a temporary copy. Returns null
// for other tensors, and if there is no memory.
const float* as_float32(KernelRuntimeContext& context, const Tensor& tensor);

}  // namespace rushlight::optimized
