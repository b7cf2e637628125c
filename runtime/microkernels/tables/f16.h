// Inner loops over float16 and bfloat16, one set of them for each instruction set. Arithmetic is float32's; each result
// that is stored as 16 bits is rounded once, to nearest, ties to even.
#pragma once

#include <cstdint>

#include "microkernels/tables/f32.h"

namespace rushlight::microkernels {

enum class F16Type : uint8_t { Float16, BFloat16 };

struct F16Microkernels {
  const char* name;
  // y[i] = op(x[i]), i < n, for a function that is neither costly nor rounds; y may be x.
  void (*unary)(F16Type type, UnaryOp op, const uint16_t* x, uint16_t* y, int64_t n, float p, float q);
  // y[i] = op(a[i * a_step], b[i * b_step]), not Atan2; a step is 1 or 0, not both 0. y may be an operand with step 1.
  void (*binary)(F16Type type, BinaryOp op, const uint16_t* a, int64_t a_step, const uint16_t* b, int64_t b_step,
                 uint16_t* y, int64_t n);
  // In double over blocks that are summed in float.
  double (*sum)(F16Type type, const uint16_t* x, int64_t n);
  // NaN if there is one; n > 0.
  float (*extreme)(F16Type type, bool largest, const uint16_t* x, int64_t n);
  // y[j] = op(y[j], x[i * stride + j]) for i < rows, j < n; op is Add, Maximum or Minimum. Sums of eight rows are added
  // at a time.
  void (*reduce_rows)(F16Type type, BinaryOp op, const uint16_t* x, int64_t stride, int64_t rows, float* y, int64_t n);
  // 16-bit floats as float32, and back.
  void (*widen)(F16Type type, const uint16_t* x, int64_t n, float* y);
  void (*narrow)(F16Type type, const float* x, int64_t n, uint16_t* y);
};

// The best set for this machine; RUSHLIGHT_ISA in the environment asks for a lesser one by name.
const F16Microkernels& f16_microkernels();
// By name (generic, avx2, avx512, neon), or null if this machine or build has none.
const F16Microkernels* f16_microkernels_named(const char* name);

}  // namespace rushlight::microkernels
