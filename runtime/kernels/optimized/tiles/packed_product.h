// Matrix products whose right operand is packed once and used many times.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/optimized/tiles/tiles.h"

namespace rushlight::tiles {

// Floats of a packed [k, n] operand (aligned to 64 bytes), and of a bias that goes with it.
int64_t packed_size(const Tiles& tiles, int64_t k, int64_t n);
int64_t packed_bias_size(const Tiles& tiles, int64_t n);

// Packs b[j * ldb + l] (transposed) or b[l * ldb + j] for l < k, j < n.
void pack_right(const Tiles& tiles, bool is_transposed, const float* b, int64_t ldb, int64_t k, int64_t n, float* to);
// Copies [n] floats, or zeros if `bias` is null, and pads them.
void pack_bias(const Tiles& tiles, const float* bias, int64_t n, float* to);

// c[m, n] = bias[n] + a[m, k] * b[k, n], clamped to bounds if there are any.
struct PackedProduct {
  int64_t n, k;
  const float* a;  // row stride lda
  int64_t lda;
  const float* b;     // packed
  const float* bias;  // packed, or null
  const float* bounds;
  float* c;  // row stride ldc
  int64_t ldc;
};

// Floats of scratch memory (aligned to 64 bytes) that multiply_packed() needs.
int64_t packed_product_scratch(const Tiles& tiles);
// Rows [m0, m1) and columns [n0, n1); n0 is a multiple of a tile's columns. An element's value does not depend on how
// the product is divided.
void multiply_packed(const Tiles& tiles, const PackedProduct& product, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
                     float* scratch);

}  // namespace rushlight::tiles
