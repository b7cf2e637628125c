// Inner loops over float16 and bfloat16, one table for each instruction set. Arithmetic is in float32; a result that is
// stored in 16 bits is rounded only once, to nearest, ties to even.
#pragma once

#include <cstdint>

#include "microkernels/tables/f32.h"
#include "microkernels/tables/selected.h"

namespace rushlight::microkernels {

enum class F16Type : uint8_t { Float16, BFloat16 };

struct F16Microkernels {
  const char* name;
  // y[i] = op(x[i]), i < n, for an `op` that is cheap and does not round. y may be x. Null in small code.
  void (*unary)(F16Type type, UnaryOp op, const uint16_t* x, uint16_t* y, int64_t n, float p, float q);
  // y[i] = op(a[i * a_step], b[i * b_step]), i < n. `op` is not Atan2. A step is 1 or 0, and one step is 1. y may be an
  // operand with step 1. Null in small code.
  void (*binary)(F16Type type, BinaryOp op, const uint16_t* a, int64_t a_step, const uint16_t* b, int64_t b_step,
                 uint16_t* y, int64_t n);
  // Adds blocks in float32, and the sums of the blocks in float64.
  double (*sum)(F16Type type, const uint16_t* x, int64_t n);
  // Returns the largest or smallest x[i], or NaN if an x[i] is NaN. n > 0.
  float (*extreme)(F16Type type, bool largest, const uint16_t* x, int64_t n);
  // y[j] = op(y[j], x[i * stride + j]) for i < rows, j < n; op is Add, Maximum or Minimum. Sums of eight rows are added
  // at a time.
  void (*reduce_rows)(F16Type type, BinaryOp op, const uint16_t* x, int64_t stride, int64_t rows, float* y, int64_t n);
  // Converts 16-bit floats to float32, and back.
  void (*widen)(F16Type type, const uint16_t* x, int64_t n, float* y);
  void (*narrow)(F16Type type, const float* x, int64_t n, uint16_t* y);
};

// Returns the best table for this machine, or the table that the environment variable RUSHLIGHT_ISA selects.
const F16Microkernels& f16_microkernels();
// Returns a table by name (generic, avx2, avx512, neon, rvv, rvv256), or null if this machine or build does not have
// it.
const F16Microkernels* f16_microkernels_named(const char* name);

// Converts 16-bit floats to float32. Does nothing in a build without support for 16-bit floats.
inline void widen(F16Type type, const uint16_t* x, int64_t n, float* y) {
  if (kHasF16) f16_microkernels().widen(type, x, n, y);
}

}  // namespace rushlight::microkernels
