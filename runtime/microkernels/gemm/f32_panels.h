// Float32 GEMMs whose RHS is packed ahead of time, in the panels that microkernels/tables/f32_packed.h describes.
#pragma once

#include <cstdint>

#include "microkernels/tables/bf16_pairs.h"
#include "microkernels/tables/f16.h"
#include "microkernels/tables/f32.h"
#include "microkernels/tables/f32_halves.h"
#include "microkernels/tables/f32_packed.h"
#include "microkernels/tables/int8.h"
#include "microkernels/tables/selected.h"

namespace rushlight::microkernels {

// The shape of panels. A panel has `panel` columns, which is a multiple of the `vector` floats of a vector.
struct Packing {
  int64_t vector;
  int64_t panel;
  int64_t columns(int64_t n) const { return (n + vector - 1) / vector * vector; }
};

inline Packing packing_of(const F32Microkernels& kernels) {
  return {kernels.width, static_cast<int64_t>(kernels.width) * kernels.gemm_vectors};
}

// Packs a matrix [k, n] into k * Packing::columns(n) floats. Its element [l, j] is b[j * ldb + l] if `is_transposed`,
// else b[l * ldb + j].
void pack(const F32Microkernels& kernels, bool is_transposed, const float* b, int64_t ldb, int64_t k, int64_t n,
          float* to);

// A transposed matrix [columns, depth] of int8 or 4-bit numbers, in which each group of numbers of a row has a scale.
struct GroupedMatrix {
  const uint8_t* numbers;  // int8 numbers, or 4-bit numbers as in Int4Dots
  bool is_int4;            // if true, `group` is even
  int64_t depth, group;    // `group` divides `depth`
  const float* scales;     // [columns, depth / group]

  int64_t row_bytes() const { return is_int4 ? depth / 2 : depth; }
  // Returns terms [first, last) of `count` columns from `column` on.
  ScaledColumns part(int64_t column, int64_t count, int64_t first, int64_t last) const;
};

// A packed matrix of float32 or 16-bit floats, or a grouped matrix.
struct PackedWeights {
  PackedWeights() = default;
  PackedWeights(const float* packed) : floats(packed) {}

  // One of these three is not null.
  const float* floats = nullptr;
  const uint16_t* f16 = nullptr;
  const GroupedMatrix* grouped = nullptr;
  F16Type type = F16Type::Float16;

  bool is_f16() const { return kHasF16 && f16; }
  bool is_grouped() const { return kHasGrouped && grouped; }
  // Returns whether panels are converted to float32 in memory.
  bool is_widened() const { return is_f16() || is_grouped(); }
  // Not for grouped matrices.
  PackedWeights from(int64_t first) const {
    PackedWeights rest = *this;
    if (floats) rest.floats += first;
    if (f16) rest.f16 += first;
    return rest;
  }
};

// Memory that is read next. A GEMM prefetches it while it computes its last panel.
struct Ahead {
  const void* from = nullptr;  // may be null
  int64_t bytes = 0;

  // Returns part `index` of `count` parts of similar sizes.
  Ahead part(int64_t index, int64_t count) const {
    const int64_t begin = bytes * index / count;
    return {static_cast<const char*>(from) + begin, bytes * (index + 1) / count - begin};
  }
};

// The weights that a step reads first: for each worker, the first panel that it computes.
struct FirstWeights {
  const void* from = nullptr;  // may be null
  int64_t panel_bytes = 0;
  int64_t panels = 1;  // panels that are divided among the workers, or 1 if all workers begin with the same one

  // Returns the panel that a worker prefetches while it computes items that end at `end`, of `count` items in all. Only
  // the last part of the worker's own range (see for_sharing_workers()) prefetches; otherwise returns nothing.
  Ahead after(int64_t worker, int64_t workers, int64_t end, int64_t count) const {
    if (from == nullptr || end != count * (worker + 1) / workers) return {};
    return {static_cast<const char*>(from) + panels * worker / workers * panel_bytes, panel_bytes};
  }
};

// The product of a block of rows and a packed matrix [taps * k, n].
struct Panels {
  const F32Microkernels* kernels;
  const F32HalfMicrokernels* halves;  // the table that belongs to `kernels`, or null
  const float* const* rows;           // [taps, row_step]
  int64_t row_step;
  const float* zeros;  // a pointer in `rows` that marks padding, or null; tiles that are only padding are skipped
  int64_t row_gap;     // floats from a row to the next for most rows, or 0 if not known
  int64_t channel;     // index of the first number of each row that belongs to the LHS
  int64_t m, taps, k, n;
  PackedWeights b;
  Ahead ahead;     // memory that is read after the last panel
  float* widened;  // scratch memory [taps * k, panel] for 16-bit weights, if there are more rows than in a tile, and
                   // for grouped matrices
  // The bfloat16 microkernels, if rows are rounded to bfloat16 and `taps` is 1, or null; and scratch memory for a part
  // of the rows, [m, padded_pairs(depth_of_part(1, k))].
  const Bf16PairMicrokernels* pairs;
  uint32_t* rounded;
  PairTileShapes* shapes;  // multiply() sets it
  const float* bias;       // [n, rounded up to vectors], or null
  float* c;
  int64_t c_step;
  Epilogue epilogue;  // `residual` points to the number for the first element of c, and may equal c
  // Whether a tile of c is prefetched while it is computed, because c is probably not in the cache.
  bool fetches_output;
};

// Longer sums of many rows are computed in parts of at most this many terms, so that this part of the rows stays in the
// cache.
inline constexpr int64_t kMaxDepth = 1024;
// Returns the number of terms of a part of a sum of `taps` * k terms.
int64_t depth_of_part(int64_t taps, int64_t k);

// Divides rows into tiles of nearly equal size, or into tiles of `most` rows and a smaller last one.
struct RowDivision {
  int64_t groups, base, larger, last;
  RowDivision(int64_t m, int64_t most, bool is_even = true) : groups((m + most - 1) / most) {
    base = !is_even ? most : groups > 0 ? m / groups : 0;
    larger = is_even ? m - base * groups : 0;
    last = is_even ? base : m - base * (groups - 1);
  }
  int64_t count(int64_t group) const { return group == groups - 1 ? last : base + (group < larger ? 1 : 0); }
};

// Prefetches `count` floats, because hardware prefetchers do not detect reads of one cache line in each of many rows.
inline void fetch(const float* from, int64_t count) {
  for (int64_t i = 0; i < count; i += 16) __builtin_prefetch(from + i, 0, 3);
}

// Prefetches `count` floats that will be written.
inline void fetch_to_write(const float* to, int64_t count) {
  for (int64_t i = 0; i < count; i += 16) __builtin_prefetch(to + i, 1, 3);
}

// Computes panels [p0, p1) of all rows. The order of the additions does not depend on the number of rows.
void multiply(const Panels& gemm, int64_t p0, int64_t p1);

// Computes `groups` products. For each next product, the rows begin k channels later, and the next packed matrix and
// the next n columns of the result are used. Sums are added in the order of multiply().
void multiply_groups(const Panels& first, int64_t groups);

}  // namespace rushlight::microkernels
