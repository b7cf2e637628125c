// Tiles of a float32 GEMM whose sums stay in registers, and the packing of its RHS.
#pragma once

#include <utility>

#include "microkernels/gemm/impl/f32_tile_shape.h"
#include "microkernels/simd/vec.h"
#include "microkernels/tables/f32.h"

namespace rushlight::microkernels::RL_ISA {

template <int Rows, int Vectors, bool Ahead>
static void gemm_tile(const GemmTile& t) {
  Floats acc[Rows][Vectors] = {};
  const float* b = t.b;
  const float* a = t.a;
  const int64_t lda = t.lda;
  const float* ahead = t.next_a;
  [[maybe_unused]] int ahead_row = 0;
  for (int64_t k = 0; k < t.k; ++k) {
    Floats row[Vectors];
    if constexpr (Ahead) {
      __builtin_prefetch(ahead);
      ahead += lda + 1;
      if (++ahead_row == Rows) {
        ahead_row = 0;
        ahead -= Rows * lda;
      }
    }
    RL_UNROLL for (int j = 0; j < Vectors; ++j) row[j] = *reinterpret_cast<const Floats*>(b + j * kWidth);
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      const Floats x = splat(a[i * lda + k]);
      RL_UNROLL for (int j = 0; j < Vectors; ++j) acc[i][j] += x * row[j];
      keep_order(acc[i]);
    }
    b += Vectors * kWidth;
  }
  float* c = t.c;
  if (t.accumulates) {
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      RL_UNROLL for (int j = 0; j < Vectors; ++j) acc[i][j] += load(c + i * t.ldc + j * kWidth);
    }
  }
  // The bias is added after the products. If a large bias were added first, each addition would round to its magnitude.
  if (t.bias_of == BiasOf::Rows) {
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      const Floats bias = splat(t.bias[i]);
      RL_UNROLL for (int j = 0; j < Vectors; ++j) acc[i][j] += bias;
    }
  } else if (t.bias_of == BiasOf::Columns) {
    RL_UNROLL for (int j = 0; j < Vectors; ++j) {
      const Floats bias = load(t.bias + j * kWidth);
      RL_UNROLL for (int i = 0; i < Rows; ++i) acc[i][j] += bias;
    }
  }
  RL_UNROLL for (int i = 0; i < Rows; ++i) {
    RL_UNROLL for (int j = 0; j < Vectors; ++j) store(c + i * t.ldc + j * kWidth, acc[i][j]);
  }
}

using GemmTileFunction = void (*)(const GemmTile&);

template <int Vectors, bool Ahead, int... I>
static void gemm_of(int rows, const GemmTile& tile, std::integer_sequence<int, I...>) {
  static constexpr GemmTileFunction by_rows[] = {&gemm_tile<I + 1, Vectors, Ahead>...};
  by_rows[rows - 1](tile);
}

template <int Vectors>
static void gemm_across(int rows, const GemmTile& tile) {
  using Rows = std::make_integer_sequence<int, kTileRows>;
  if (tile.next_a) return gemm_of<Vectors, true>(rows, tile, Rows{});
  return gemm_of<Vectors, false>(rows, tile, Rows{});
}

static void gemm(int rows, int vectors, const GemmTile& tile) {
  if (vectors == 1) return gemm_across<1>(rows, tile);
  if (vectors == 2) return gemm_across<2>(rows, tile);
  if constexpr (kTileVectors >= 3) return gemm_across<3>(rows, tile);
}

template <int Vectors>
RL_INLINE void pack_row(const float* from, int64_t columns, float* to) {
  if (columns >= Vectors * kWidth) {
    RL_UNROLL for (int j = 0; j < Vectors; ++j) * reinterpret_cast<Floats*>(to + j * kWidth) = load(from + j * kWidth);
    return;
  }
  RL_UNROLL for (int j = 0; j < Vectors; ++j) {
    const int64_t left = columns - j * kWidth;
    *reinterpret_cast<Floats*>(to + j * kWidth) =
        left >= kWidth ? load(from + j * kWidth) : (left > 0 ? load_few(from + j * kWidth, left) : Floats{});
  }
}

template <int Vectors>
static void pack_rows_of(const float* b, int64_t ldb, int64_t k, int64_t columns, float* to) {
  if (columns >= Vectors * kWidth) {
    for (int64_t i = 0; i < k; ++i) {
      // The rows are far apart, so that the part that the next panel needs is prefetched.
      __builtin_prefetch(b + i * ldb + Vectors * kWidth);
      pack_row<Vectors>(b + i * ldb, Vectors * kWidth, to + i * Vectors * kWidth);
    }
  } else {
    for (int64_t i = 0; i < k; ++i) pack_row<Vectors>(b + i * ldb, columns, to + i * Vectors * kWidth);
  }
}

static void pack_rows(int vectors, const float* b, int64_t ldb, int64_t k, int64_t columns, float* to) {
  if (vectors == 1) return pack_rows_of<1>(b, ldb, k, columns, to);
  if (vectors == 2) return pack_rows_of<2>(b, ldb, k, columns, to);
  if constexpr (kTileVectors >= 3) return pack_rows_of<3>(b, ldb, k, columns, to);
}

template <int Vectors>
static void pack_gathered_of(const float* b, const int32_t* offsets, int64_t k, float* to) {
  for (int64_t i = 0; i < k; ++i) {
    pack_row<Vectors>(b + offsets[i], Vectors * kWidth, to + i * Vectors * kWidth);
  }
}

static void pack_gathered(int vectors, const float* b, const int32_t* offsets, int64_t k, float* to) {
  if (vectors == 1) return pack_gathered_of<1>(b, offsets, k, to);
  if (vectors == 2) return pack_gathered_of<2>(b, offsets, k, to);
  if constexpr (kTileVectors >= 3) return pack_gathered_of<3>(b, offsets, k, to);
}

// Packs a transposed matrix in blocks of 4 x 4. Columns of `to` are rows of `b`.
static void pack_transposed(int vectors, const float* b, int64_t ldb, int64_t k, int64_t columns, float* to) {
  typedef float Quad __attribute__((vector_size(16)));
  typedef float UnalignedQuad __attribute__((vector_size(16), aligned(4), may_alias));
  const int64_t width = vectors * kWidth;
  const int64_t filled = columns < width ? columns : width;
  int64_t j = 0;
  for (; j + 4 <= filled; j += 4) {
    const float* r0 = b + j * ldb;
    const float* r1 = r0 + ldb;
    const float* r2 = r1 + ldb;
    const float* r3 = r2 + ldb;
    float* column = to + j;
    int64_t i = 0;
    for (; i + 4 <= k; i += 4) {
      const Quad a0 = *reinterpret_cast<const UnalignedQuad*>(r0 + i);
      const Quad a1 = *reinterpret_cast<const UnalignedQuad*>(r1 + i);
      const Quad a2 = *reinterpret_cast<const UnalignedQuad*>(r2 + i);
      const Quad a3 = *reinterpret_cast<const UnalignedQuad*>(r3 + i);
      const Quad low01 = __builtin_shufflevector(a0, a1, 0, 4, 1, 5);
      const Quad high01 = __builtin_shufflevector(a0, a1, 2, 6, 3, 7);
      const Quad low23 = __builtin_shufflevector(a2, a3, 0, 4, 1, 5);
      const Quad high23 = __builtin_shufflevector(a2, a3, 2, 6, 3, 7);
      float* out = column + i * width;
      *reinterpret_cast<UnalignedQuad*>(out) = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
      *reinterpret_cast<UnalignedQuad*>(out + width) = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
      *reinterpret_cast<UnalignedQuad*>(out + 2 * width) = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
      *reinterpret_cast<UnalignedQuad*>(out + 3 * width) = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
    }
    for (; i < k; ++i) {
      column[i * width] = r0[i];
      column[i * width + 1] = r1[i];
      column[i * width + 2] = r2[i];
      column[i * width + 3] = r3[i];
    }
  }
  for (; j < filled; ++j) {
    for (int64_t i = 0; i < k; ++i) to[i * width + j] = b[j * ldb + i];
  }
  for (; j < width; ++j) {
    for (int64_t i = 0; i < k; ++i) to[i * width + j] = 0.0f;
  }
}

}  // namespace rushlight::microkernels::RL_ISA
