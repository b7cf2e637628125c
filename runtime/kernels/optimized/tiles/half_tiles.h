// Inner loops over float16 and bfloat16, one set of them for each instruction set. Arithmetic is float32's; each result
// that is stored as 16 bits is rounded once, to nearest, ties to even.
#pragma once

#include <cstdint>

#include "kernels/optimized/tiles/tiles.h"

namespace rushlight::tiles {

enum class HalfType : uint8_t { Float16, BFloat16 };

struct HalfTiles {
  const char* name;
  // y[i] = op(x[i]), i < n; y may be x.
  void (*unary)(HalfType type, UnaryOp op, const uint16_t* x, uint16_t* y, int64_t n, float p, float q);
  // y[i] = op(a[i * a_step], b[i * b_step]); a step is 1 or 0, not both 0. y may be an operand with step 1.
  void (*binary)(HalfType type, BinaryOp op, const uint16_t* a, int64_t a_step, const uint16_t* b, int64_t b_step,
                 uint16_t* y, int64_t n);
  // In double over blocks that are summed in float.
  double (*sum)(HalfType type, const uint16_t* x, int64_t n);
  // NaN if there is one; n > 0.
  float (*extreme)(HalfType type, bool largest, const uint16_t* x, int64_t n);
  // y[j] = op(y[j], x[i * stride + j]) for i < rows, j < n; op is Add, Maximum or Minimum. Sums of eight rows are added
  // at a time.
  void (*fold_rows)(HalfType type, BinaryOp op, const uint16_t* x, int64_t stride, int64_t rows, float* y, int64_t n);
  // 16-bit floats as float32, and back.
  void (*widen)(HalfType type, const uint16_t* x, int64_t n, float* y);
  void (*narrow)(HalfType type, const float* x, int64_t n, uint16_t* y);
};

// The best set for this machine; RUSHLIGHT_ISA in the environment asks for a lesser one by name.
const HalfTiles& half_tiles();
// By name (generic, avx2, avx512, neon), or null if this machine or build has none.
const HalfTiles* half_tiles_named(const char* name);

}  // namespace rushlight::tiles
