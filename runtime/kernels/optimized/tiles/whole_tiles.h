// Inner loops over whole numbers, and over elements of any type, one set of them for each instruction set.
#pragma once

#include <cstdint>

#include "kernels/optimized/tiles/tiles.h"

namespace rushlight::tiles {

enum class WholeType : uint8_t { UInt8, Int8, Int16, Int32, Int64 };
enum class WholeOp : uint8_t { Add, Sub, Mul, Maximum, Minimum };

// Steps are 1 or 0, not all of them 0 unless n is 1; the result may be an operand with step 1.
struct WholeTiles {
  const char* name;
  // Modulo 2 to the type's bits.
  void (*binary)(WholeType type, WholeOp op, const void* a, int64_t a_step, const void* b, int64_t b_step, void* y,
                 int64_t n);
  void (*clamp)(WholeType type, const void* x, void* y, int64_t n, int64_t least, int64_t most);
  // 1 or 0; y is no operand.
  void (*compare)(WholeType type, CompareOp op, const void* a, int64_t a_step, const void* b, int64_t b_step,
                  uint8_t* y, int64_t n);
  int64_t (*sum)(WholeType type, const void* x, int64_t n);
  // sums[j] += x[i * stride + j] for i < rows, j < n.
  void (*add_rows)(WholeType type, const void* x, int64_t stride, int64_t rows, int64_t* sums, int64_t n);
  // y[j] = op(y[j], x[i * stride + j]); op is Maximum or Minimum.
  void (*fold_rows)(WholeType type, WholeOp op, const void* x, int64_t stride, int64_t rows, void* y, int64_t n);
  // n > 0.
  int64_t (*extreme)(WholeType type, bool largest, const void* x, int64_t n);
  // The first index of `value`, or n.
  int64_t (*find)(WholeType type, const void* x, int64_t n, int64_t value);
  // y[i] = c[i] ? a[i] : b[i] for elements of 1, 2, 4 or 8 bytes.
  void (*select)(int64_t size, const uint8_t* c, int64_t c_step, const void* a, int64_t a_step, const void* b,
                 int64_t b_step, void* y, int64_t n);
};

// The best set for this machine; RUSHLIGHT_ISA in the environment asks for a lesser one by name.
const WholeTiles& whole_tiles();
// By name (generic, avx2, avx512, neon), or null if this machine or build has none.
const WholeTiles* whole_tiles_named(const char* name);

}  // namespace rushlight::tiles
