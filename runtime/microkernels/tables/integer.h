// Inner loops over integers, over elements of any type, and over 64-bit numbers, one table for each instruction set.
#pragma once

#include <cstdint>

#include "microkernels/tables/f32.h"

namespace rushlight::microkernels {

enum class IntegerType : uint8_t { UInt8, Int8, Int16, Int32, Int64 };
enum class IntegerOp : uint8_t { Add, Sub, Mul, Maximum, Minimum };

// The number of columns of add_products().
inline constexpr int64_t kProductColumns = 32;

// A step is 1 or 0. At least one step is 1, unless n is 1. The result may be the memory of an operand whose step is 1.
struct IntegerMicrokernels {
  const char* name;
  // Results are computed modulo 2^bits.
  void (*binary)(IntegerType type, IntegerOp op, const void* a, int64_t a_step, const void* b, int64_t b_step, void* y,
                 int64_t n);
  void (*clamp)(IntegerType type, const void* x, void* y, int64_t n, int64_t least, int64_t most);
  // y[i] = 1 if the comparison is true, else 0. y does not overlap an operand.
  void (*compare)(IntegerType type, CompareOp op, const void* a, int64_t a_step, const void* b, int64_t b_step,
                  uint8_t* y, int64_t n);
  int64_t (*sum)(IntegerType type, const void* x, int64_t n);
  // sums[j] += x[i * stride + j] for i < rows, j < n.
  void (*add_rows)(IntegerType type, const void* x, int64_t stride, int64_t rows, int64_t* sums, int64_t n);
  // y[j] = op(y[j], x[i * stride + j]); op is Maximum or Minimum.
  void (*reduce_rows)(IntegerType type, IntegerOp op, const void* x, int64_t stride, int64_t rows, void* y, int64_t n);
  // Returns the largest or smallest x[i]. n > 0.
  int64_t (*extreme)(IntegerType type, bool largest, const void* x, int64_t n);
  // Returns the first index of `value`, or n if there is none.
  int64_t (*find)(IntegerType type, const void* x, int64_t n, int64_t value);
  // y[i] = c[i] ? a[i] : b[i] for elements of 1, 2, 4 or 8 bytes.
  void (*select)(int64_t size, const uint8_t* c, int64_t c_step, const void* a, int64_t a_step, const void* b,
                 int64_t b_step, void* y, int64_t n);
  // sums[r][c] += the sum of a[r * a_row + k] * b[k][c] over k < depth, for r < rows and c < kProductColumns, in
  // float64 or modulo 2^64. It also changes up to three rows of sums after the last one.
  void (*add_products)(bool is_float, const void* a, int64_t a_row, const void* b, void* sums, int64_t rows,
                       int64_t depth);
};

// Returns the best table for this machine, or the table that the environment variable RUSHLIGHT_ISA selects.
const IntegerMicrokernels& integer_microkernels();
// Returns a table by name (generic, avx2, avx512, neon, rvv, rvv256), or null if this machine or build does not have
// it.
const IntegerMicrokernels* integer_microkernels_named(const char* name);

}  // namespace rushlight::microkernels
