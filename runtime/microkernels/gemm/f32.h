// Blocked float32 GEMMs that pack the RHS in each call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "microkernels/tables/f32.h"

namespace rushlight::microkernels {

// c[m, n] = init + a[m, k] * b[k, n].
struct F32Gemm {
  enum class Rhs : uint8_t {
    Rows,        // b[l * ldb + j]
    Transposed,  // b[j * ldb + l]
    Gathered,    // b[offsets[l] + j]; reads up to the width of a panel beyond the last column
  };

  int64_t m, n, k;
  const float* a;  // row stride lda
  int64_t lda;
  Rhs rhs;
  const float* b;
  int64_t ldb;
  const int32_t* offsets;  // [k]
  BiasOf bias_of;
  const float* bias;  // [m] or [n]
  float* c;           // row stride ldc
  int64_t ldc;
  // If not 0, the columns of c form rows of `row` columns. Only the first `kept` columns of each row are stored,
  // contiguously.
  int64_t row = 0;
  int64_t kept = 0;
  bool accumulates = false;  // whether the product is added to c
};

// Returns the scratch memory of multiply() for this k and n in floats. It is aligned to 64 bytes.
int64_t gemm_scratch(const F32Microkernels& kernels, int64_t k, int64_t n);

// Computes rows [m0, m1) and columns [n0, n1) of the product. n0 is a multiple of column_step(). Results do not depend
// on how the product is divided.
void multiply(const F32Microkernels& kernels, const F32Gemm& gemm, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
              float* scratch);

// Whether the LHS has so few rows that the RHS is read in place: packing it would take longer than the product.
bool has_few_rows(const F32Gemm& gemm);

// Computes columns [n0, n1) of a product with few rows.
void multiply_few_rows(const F32Microkernels& kernels, const F32Gemm& gemm, int64_t n0, int64_t n1);

// Return the rows and columns of a tile. A product can be divided at multiples of them without loss of speed.
inline int64_t row_step(const F32Microkernels& kernels) { return kernels.gemm_rows; }
inline int64_t column_step(const F32Microkernels& kernels) {
  return static_cast<int64_t>(kernels.gemm_vectors) * kernels.width;
}

}  // namespace rushlight::microkernels
