// GEMMs of int8 matrices with exact int32 sums.
#pragma once

#include <cstddef>
#include <cstdint>

#include "microkernels/tables/int8.h"

namespace rushlight::microkernels {

// Packs the terms of `rows` rows, whose distance is `stride`, as ScaledDots::x for `columns`. The rows that are missing
// to `tile` rows are zeros.
void pack_scaled_rows(const float* from, int64_t stride, int64_t rows, int64_t tile, const ScaledColumns& columns,
                      float* to);

// The RHS: weights, packed once.

// Returns the bytes of a packed int8 matrix of n columns of k numbers each. Its memory is aligned to 64 bytes.
size_t packed_rhs_size(const Int8Microkernels& kernels, int64_t n, int64_t k);
// Packs a matrix whose column j is from[j * stride], ..., from[j * stride + k - 1].
void pack_rhs(const Int8Microkernels& kernels, const int8_t* from, int64_t stride, int64_t n, int64_t k, void* to);
// Packs columns [n0, n1) of the same matrix; n0 is a multiple of column_step().
void pack_columns(const Int8Microkernels& kernels, const int8_t* from, int64_t stride, int64_t n, int64_t k, int64_t n0,
                  int64_t n1, void* to);
// Returns the panels of a packed matrix of n columns. Each panel is [groups of k, columns, numbers of a group].
const int8_t* panels_of(const void* packed, int64_t n);
// Returns the sums [n] of the numbers of each column.
const int32_t* rhs_sums(const void* packed);
// Writes corrections [n] that remove the zero point of the LHS from the sums: -(zero + lhs_offset) * rhs_sums, plus the
// bias [n] if it is not null. `zero` is in the range of int8; for a uint8 LHS it is the zero point minus 128.
void zero_corrections(const Int8Microkernels& kernels, const void* packed, int64_t n, int32_t zero, const int32_t* bias,
                      int32_t* to);

// An LHS whose rows are windows of an image in the format of a packed LHS. A row consists of `runs` runs of `run`
// numbers.
struct Int8Windows {
  const uint8_t* first;         // address of the first number of row 0
  int64_t width;                // number of rows of the LHS for each line of the image
  int64_t row_step, line_step;  // bytes from row to row and from line to line
  int64_t run, runs, run_step;  // `run` is a multiple of a group; `run_step` is in bytes
};

// A GEMM: out[m, n] = epilogue(lhs[m, k] * rhs[k, n]).
struct Int8Gemm {
  int64_t m, n, k;

  // Row i of the LHS is at lhs + i * lhs_stride. Its numbers XOR `sign_mask` are int8 (0x80 for uint8 numbers). If
  // `gather` is not null, it is called instead to write a row in the format of pack_lhs(). It may write additional
  // bytes, up to a multiple of 64 bytes.
  const uint8_t* lhs;
  int64_t lhs_stride;
  uint8_t sign_mask;
  void (*gather)(const void* context, int64_t row, void* to) = nullptr;
  const void* context = nullptr;
  // As gather(), for rows [row, row + rows), which are `stride` bytes apart. If it is null, gather() is called for each
  // row.
  void (*gather_rows)(const void* context, int64_t row, int64_t rows, int64_t stride, void* to) = nullptr;

  // Replaces `gather` for quantized results, if the microkernels have gemm_results().
  const Int8Windows* windows = nullptr;

  const void* rhs;  // packed by pack_rhs(); null: the RHS is not packed, and `columns` is used
  // Column j begins at columns[j * column_stride]. For quantized results, zeros[0] is then also the zero point of the
  // LHS, and requantize.correction is a bias or null.
  const int8_t* columns = nullptr;
  int64_t column_stride = 0;

  // The type of the results. Quantized: int8 or uint8 by `requantize`, whose corrections remove the zero point of the
  // LHS. Float32: (sums - zeros[i] * rhs_sums[j]) * scales[i] * multiplier[j] + offset[j]. Int32: sums of (LHS +
  // lhs_offset) * RHS.
  enum class Out : uint8_t { Quantized, Float32, Int32 };
  Out out_kind;
  Requantize requantize;
  // Zero points and scales of the rows [m], or one value for all rows if the step is 0. Zero points are in the range of
  // int8.
  const int32_t* zeros;
  const float* scales;
  int64_t row_step;
  const float* multiplier;  // [n]
  const float* offset;      // [n] or null
  float least, most;
  bool accumulate = false;  // for Float32: adds the results to the values in `out` before clamping
  void* out;
  int64_t out_stride;  // elements

  // If not null, it is called for float32 results while they are in the cache: rows [row, row + rows) and columns
  // [column, column + columns).
  void (*finish)(const void* context, int64_t row, int64_t rows, int64_t column, int64_t columns) = nullptr;
  const void* finish_context = nullptr;

  const int8_t* ahead = nullptr;  // memory to prefetch, which is read after the last panel; or null
  int64_t ahead_bytes = 0;
};

// Returns the scratch memory of multiply() for this k in bytes. It is aligned to 64 bytes.
size_t gemm_scratch(const Int8Microkernels& kernels, int64_t k);
// Computes rows [m0, m1) and columns [n0, n1). n0 is a multiple of column_step(). Results do not depend on how the
// product is divided.
void multiply(const Int8Microkernels& kernels, const Int8Gemm& gemm, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
              void* scratch);

// Return the columns and rows of a tile. A product can be divided at multiples of them without loss of speed.
inline int64_t column_step(const Int8Microkernels& kernels) {
  return static_cast<int64_t>(kernels.vectors) * kernels.lanes;
}
inline int64_t row_step(const Int8Microkernels& kernels) { return kernels.rows; }

}  // namespace rushlight::microkernels
