// Products with matrices that are packed once: a packed matrix [k, n] is a row of panels, as
// microkernels/tables/f32_packed.h describes them.
#pragma once

#include <cstdint>

#include "microkernels/tables/bf16_pairs.h"
#include "microkernels/tables/f16.h"
#include "microkernels/tables/f32.h"
#include "microkernels/tables/f32_halves.h"
#include "microkernels/tables/f32_packed.h"

namespace rushlight::microkernels {

// The shape of panels: each has `panel` columns, in vectors of `vector` floats.
struct Packing {
  int64_t vector;
  int64_t panel;
  int64_t columns(int64_t n) const { return (n + vector - 1) / vector * vector; }
};

inline Packing packing_of(const F32Microkernels& kernels) {
  return {kernels.width, static_cast<int64_t>(kernels.width) * kernels.gemm_vectors};
}

// Packs b[j * ldb + l] (if transposed) or b[l * ldb + j], for l < k and j < n, into k * Packing::columns(n) floats.
void pack(const F32Microkernels& kernels, bool is_transposed, const float* b, int64_t ldb, int64_t k, int64_t n,
          float* to);

// A packed matrix of float32, or of 16-bit floats.
struct PackedWeights {
  PackedWeights() = default;
  PackedWeights(const float* packed) : floats(packed) {}

  const float* floats = nullptr;  // or null:
  const uint16_t* f16 = nullptr;
  F16Type type = F16Type::Float16;

  PackedWeights from(int64_t first) const {
    PackedWeights rest = *this;
    if (floats) rest.floats += first;
    if (f16) rest.f16 += first;
    return rest;
  }
};

// Memory that is read soon. A product fetches it into cache while it computes its last panel.
struct Ahead {
  const void* from = nullptr;  // or null
  int64_t bytes = 0;
};

// The weights that a step reads first: the first panel of each worker.
struct FirstWeights {
  const void* from = nullptr;  // or null
  int64_t panel_bytes = 0;
  int64_t panels = 1;  // that are divided among workers, 1 if all begin with the first

  Ahead of(int64_t worker, int64_t workers) const {
    return {static_cast<const char*>(from) + panels * worker / workers * panel_bytes, from ? panel_bytes : 0};
  }
};

// A block of rows times panels of a packed matrix [taps * k, n].
struct Panels {
  const F32Microkernels* kernels;
  const F32HalfMicrokernels* halves;  // those of `kernels`, or null
  const float* const* rows;           // [taps, row_step]
  int64_t row_step;
  const float* zeros;  // what rows are where a tap lies over the padding, or null: tiles of such rows alone are skipped
  int64_t row_gap;     // floats from most rows to the next, or 0
  int64_t channel;     // of each row, at which the LHS begins
  int64_t m, taps, k, n;
  PackedWeights b;
  Ahead ahead;     // what is read after the last panel, if not the next one
  float* widened;  // [taps * k, panel], if there are halves and more rows than a tile has
  // Of bfloat16, if rows may be rounded to it and taps is 1, else null; then also [m, pairs_of(k)].
  const Bf16PairMicrokernels* pairs;
  uint32_t* rounded;
  const float* bias;  // [n, rounded up to vectors], or null
  float* c;
  int64_t c_step;
  Epilogue epilogue;  // for c; `residual` for its first element; may be c
  // Whether a tile of c is fetched while it is computed: c is not in cache then, and writes would wait for it.
  bool fetches_output;
};

// A deeper product of many rows is summed in parts, so that the parts of its rows stay in cache.
inline constexpr int64_t kMostDepth = 768;
inline int64_t pairs_of(int64_t k) { return (k + 1) / 2; }
// Returns the number of terms of a part, of `taps` * k terms in all.
int64_t depth_of_part(int64_t taps, int64_t k);

// Rows of tiles, as evenly divided as they can be.
struct RowDivision {
  int64_t groups, base, larger;
  RowDivision(int64_t m, int64_t most) : groups((m + most - 1) / most) {
    base = groups > 0 ? m / groups : 0;
    larger = m - base * groups;
  }
  int64_t count(int64_t group) const { return base + (group < larger ? 1 : 0); }
};

// Fetches `count` floats into cache. Processors do not foresee reads of one cache line in each of many rows.
inline void fetch(const float* from, int64_t count) {
  for (int64_t i = 0; i < count; i += 16) __builtin_prefetch(from + i, 0, 3);
}

// The same of what is written.
inline void fetch_to_write(const float* to, int64_t count) {
  for (int64_t i = 0; i < count; i += 16) __builtin_prefetch(to + i, 1, 3);
}

// Computes panels [p0, p1) of all rows. The order of a sum's terms does not depend on the number of rows.
void multiply(const Panels& product, int64_t p0, int64_t p1);

}  // namespace rushlight::microkernels
