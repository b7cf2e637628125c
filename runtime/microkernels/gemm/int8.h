// Products of int8 matrices, with exact sums of 32 bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "microkernels/tables/int8.h"

namespace rushlight::microkernels {

// ---- The RHS: weights, packed once ----

// Returns the bytes of a packed int8 matrix of n columns of k numbers each. Its memory is aligned to 64 bytes.
size_t packed_rhs_size(const Int8Microkernels& kernels, int64_t n, int64_t k);
// Packs a matrix whose column j is from[j * stride], ..., from[j * stride + k - 1].
void pack_rhs(const Int8Microkernels& kernels, const int8_t* from, int64_t stride, int64_t n, int64_t k, void* to);
// Packs columns [n0, n1) of the same matrix; n0 is a multiple of column_step().
void pack_columns(const Int8Microkernels& kernels, const int8_t* from, int64_t stride, int64_t n, int64_t k, int64_t n0,
                  int64_t n1, void* to);
// Returns the panels of a packed matrix of n columns; each is [groups of k, columns, numbers of a group].
const int8_t* panels_of(const void* packed, int64_t n);
// Returns the sums [n] of the numbers of each column.
const int32_t* rhs_sums(const void* packed);
// Writes corrections [n] that take the LHS's zero point out of the sums: -(zero + lhs_offset) * rhs_sums, plus the bias
// [n] if it is not null. `zero` is that of int8 numbers, which is 128 less than that of uint8 numbers.
void zero_corrections(const Int8Microkernels& kernels, const void* packed, int64_t n, int32_t zero, const int32_t* bias,
                      int32_t* to);

// ---- The product ----

// An LHS whose rows are windows over an image in its form: row i is `runs` runs of `run` numbers each.
struct Int8Windows {
  const uint8_t* first;         // of row 0
  int64_t width;                // rows of a line
  int64_t row_step, line_step;  // bytes from row to row and from line to line
  int64_t run, runs, run_step;  // run is a multiple of a group; steps are bytes
};

// out[m, n] from lhs[m, k] and a packed RHS.
struct Int8Product {
  int64_t m, n, k;

  // Rows of the LHS: at lhs + i * lhs_stride, numbers XOR `sign_mask` being int8 (sign_mask 0x80: they are uint8), or
  // written by gather(), in pack_lhs()'s form, which may write more up to a multiple of 64 bytes.
  const uint8_t* lhs;
  int64_t lhs_stride;
  uint8_t sign_mask;
  void (*gather)(const void* context, int64_t row, void* to) = nullptr;
  const void* context = nullptr;
  // The same for rows [row, row + rows), `stride` bytes apart; null: one by one.
  void (*gather_rows)(const void* context, int64_t row, int64_t rows, int64_t stride, void* to) = nullptr;

  // Instead of `gather`, of Bytes alone, where tiles have gemm_results().
  const Int8Windows* windows = nullptr;

  const void* rhs;  // of pack_rhs(), or null: columns as they lie
  // Then column j is columns[j * column_stride] and so on, zeros[0] is taken out of Bytes too, and
  // requantize.correction is a bias or null.
  const int8_t* columns = nullptr;
  int64_t column_stride = 0;

  // What becomes of the sums. Bytes: requantize, with corrections for the LHS's zero point among them. Floats:
  // out = (sums - zeros[i] * rhs_sums[j]) * scales[i] * multiplier[j] + offset[j]. Sums: as they are, int32, those of
  // int8 numbers plus lhs_offset.
  enum class Out : uint8_t { Bytes, Floats, Sums };
  Out out_kind;
  Requantize requantize;
  // Of row i: [m], or of all rows if the step is 0. Zero points as int8.
  const int32_t* zeros;
  const float* scales;
  int64_t row_step;
  const float* multiplier;  // [n]
  const float* offset;      // [n] or null
  float least, most;
  bool accumulate = false;  // floats: to what `out` holds, before it is clamped
  void* out;
  int64_t out_stride;  // elements

  // What is done with floats while they are in cache, or null: rows [row, row + rows) of so many columns from `column`.
  void (*finish)(const void* context, int64_t row, int64_t rows, int64_t column, int64_t columns) = nullptr;
  const void* finish_context = nullptr;

  const int8_t* ahead = nullptr;  // what is read after the last panel, or null; fetched into cache meanwhile
  int64_t ahead_bytes = 0;
};

// Returns the bytes of scratch memory, aligned to 64 bytes, that multiply() needs for any product of that k.
size_t product_scratch(const Int8Microkernels& kernels, int64_t k);
// Computes rows [m0, m1) and columns [n0, n1); n0 is a multiple of column_step(). No element depends on how the
// product is divided.
void multiply(const Int8Microkernels& kernels, const Int8Product& product, int64_t m0, int64_t m1, int64_t n0,
              int64_t n1, void* scratch);

// The steps of columns and of rows at which a product may be divided without loss of speed.
inline int64_t column_step(const Int8Microkernels& kernels) {
  return static_cast<int64_t>(kernels.vectors) * kernels.lanes;
}
inline int64_t row_step(const Int8Microkernels& kernels) { return kernels.rows; }

}  // namespace rushlight::microkernels
