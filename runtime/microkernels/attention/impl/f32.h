// Attention of a few queries to all keys: scores, softmax, and weighted sums of values.
#pragma once

#include <type_traits>
#include <utility>

#include "microkernels/gemm/impl/f32.h"
#include "microkernels/simd/math.h"
#include "microkernels/tables/f32_packed.h"
#include "microkernels/tables/tile_parts.h"

namespace rushlight::microkernels::RL_ISA {

struct AttentionGemm {
  const float* a;
  int64_t a_step, k;
  const float* b;        // one panel
  const float* factors;  // a factor for the result of each row, or null
  float* c;
  int64_t c_step, columns;
};

template <int Rows, int Vectors>
static void attention_gemm(const AttentionGemm& gemm) {
  Floats acc[Rows][Vectors];
  RL_UNROLL for (int i = 0; i < Rows; ++i) RL_UNROLL for (int j = 0; j < Vectors; ++j) acc[i][j] = Floats{};
  const float* a[Rows];
  RL_UNROLL for (int i = 0; i < Rows; ++i) a[i] = gemm.a + i * gemm.a_step;
  const float* b = gemm.b;
  const auto add_term = [&](int64_t k) {
    Floats row[Vectors];
    RL_UNROLL for (int j = 0; j < Vectors; ++j) row[j] = load(b + j * kWidth);
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      const Floats x = splat(a[i][k]);
      RL_UNROLL for (int j = 0; j < Vectors; ++j) acc[i][j] = add_product(acc[i][j], x, row[j]);
      keep_order(acc[i]);
    }
    b += Vectors * kWidth;
  };
  constexpr int kTogether = Rows * Vectors > 16 ? 2 : 4;
  int64_t k = 0;
  for (; k + kTogether <= gemm.k; k += kTogether) RL_UNROLL for (int i = 0; i < kTogether; ++i) add_term(k + i);
  for (; k < gemm.k; ++k) add_term(k);
  RL_UNROLL for (int i = 0; i < Rows; ++i) {
    const Floats factor = splat(gemm.factors ? gemm.factors[i] : 1.0f);
    RL_UNROLL for (int j = 0; j < Vectors; ++j) {
      float* const to = gemm.c + i * gemm.c_step + j * kWidth;
      const int64_t left = gemm.columns - j * kWidth;
      left >= kWidth ? store(to, acc[i][j] * factor) : (left > 0 ? store_few(to, acc[i][j] * factor, left) : void());
    }
  }
}

template <int Vectors, int... I>
static void attention_gemm_of(int rows, const AttentionGemm& gemm, std::integer_sequence<int, I...>) {
  static constexpr void (*by_rows[])(const AttentionGemm&) = {
      &attention_gemm<rows_in_table<sizeof...(I)>(I + 1), Vectors>...};
  by_rows[rows - 1](gemm);
}

// Multiplies all rows, which have gemm.k numbers each, by a panel.
RL_INLINE void attention_panel(int64_t rows, int64_t vectors, AttentionGemm gemm) {
  const int64_t max_tiles = (rows + kTileRows - 1) / kTileRows;
  int count = 0;
  for (int64_t i = 0, tiles = max_tiles; i < rows; i += count) {
    const int64_t left = rows - i, even = rounded_rows<kTileRows>((left + tiles - 1) / tiles);
    count = rows_in_table<kTileRows>(static_cast<int>(even < left ? even : left));
    if (tiles > 1) --tiles;
    using Rows = std::make_integer_sequence<int, kTileRows>;
    if (vectors == 1) {
      attention_gemm_of<1>(count, gemm, Rows{});
    } else if (vectors == 2) {
      attention_gemm_of<2>(count, gemm, Rows{});
    } else if constexpr (kTileVectors >= 3) {
      attention_gemm_of<3>(count, gemm, Rows{});
    }
    gemm.a += count * gemm.a_step, gemm.c += count * gemm.c_step;
    if (gemm.factors) gemm.factors += count;
  }
}

// Calls f(first column, number of vectors) for each panel of columns [0, columns) of a packed matrix with n columns.
template <typename Function>
RL_INLINE void for_panels(int64_t columns, int64_t n, const Function& f) {
  constexpr int64_t kPanel = kTileVectors * kWidth;
  for (int64_t j = 0; j < columns; j += kPanel) {
    f(j, n - j >= kPanel ? kTileVectors : (n - j + kWidth - 1) / kWidth);
  }
}

// Scales n scores, adds `Masks` masks (if -1: the scores are not changed), and returns the largest score. The last
// vector is filled with -infinity. NaN needs no check here, because the exponentials propagate it to the results.
template <int Masks>
RL_INLINE Floats mask_scores(const AttentionMasks& masks, float* scores, int64_t n) {
  const Floats scale = splat(masks.scale);
  const float *first = masks.masks[0], *second = masks.masks[1];
  const auto score = [&](int64_t i) __attribute__((always_inline)) {
    Floats v = load(scores + i);
    if constexpr (Masks >= 0) v *= scale;
    if constexpr (Masks >= 1) v += load(first + i);
    if constexpr (Masks >= 2) v += load(second + i);
    if constexpr (Masks >= 0) store(scores + i, v);
    return v;
  };
  Floats best[2] = {splat(-__builtin_inff()), splat(-__builtin_inff())};
  int64_t i = 0;
  for (; i + 2 * kWidth <= n; i += 2 * kWidth) {
    RL_UNROLL for (int j = 0; j < 2; ++j) best[j] = at_least(best[j], score(i + j * kWidth));
  }
  for (; i + kWidth <= n; i += kWidth) best[0] = at_least(best[0], score(i));
  if (i < n) {
    Ints lanes{};
    RL_UNROLL for (int j = 0; j < kWidth; ++j) lanes[j] = j;
    Floats v = load(scores + i);
    if constexpr (Masks >= 0) v *= scale;
    if constexpr (Masks >= 1) v += load_few(first + i, n - i);
    if constexpr (Masks >= 2) v += load_few(second + i, n - i);
    v = select(lanes < static_cast<int32_t>(n - i), v, splat(-__builtin_inff()));
    store(scores + i, v);
    best[1] = at_least(best[1], v);
  }
  return across(at_least(best[0], best[1]), [](Floats u, Floats v) { return at_least(u, v); });
}

// Replaces the scores by exp((score - most) * scale), and returns a vector whose lanes add up to the sum of the
// results. The difference is computed before the multiplication, because huge scores from masks would overflow.
template <int Masks>
RL_INLINE Floats exponentials(const AttentionMasks& masks, float* scores, int64_t n, float most) {
  if (masks.may_be_empty && most == -__builtin_inff()) {
    for (int64_t i = 0; i < n; i += kWidth) {
      const Floats v = load(scores + i);
      store(scores + i, select(v == v, Floats{}, v));  // NaN stays
    }
    Floats one{};
    one[0] = 1.0f;
    return one;
  }
  const Floats largest = splat(most), factor = splat((Masks >= 0 ? 1.0f : masks.scale) * 1.44269504f);
  Floats sums[2] = {};
  const auto add = [&](int64_t i, Floats& sum) __attribute__((always_inline)) {
    const Floats e = exp2_or_zero((load(scores + i) - largest) * factor);
    sum += e;
    store(scores + i, e);
  };
  int64_t i = 0;
  for (; i + kWidth < n; i += 2 * kWidth) {
    add(i, sums[0]);
    add(i + kWidth, sums[1]);
  }
  if (i < n) add(i, sums[0]);
  return sums[0] + sums[1];
}

RL_INLINE float inverse_sum(Floats lanes) {
  return 1.0f / across(lanes, [](Floats u, Floats v) { return u + v; })[0];
}

template <int Masks>
RL_INLINE float share_of(const AttentionMasks& masks, float* scores, int64_t n) {
  return inverse_sum(exponentials<Masks>(masks, scores, n, mask_scores<Masks>(masks, scores, n)[0]));
}

// Calls the function with the constant for the template parameter `Masks` of the other functions.
template <typename Function>
RL_INLINE void with_masks(const AttentionMasks& masks, const Function& f) {
  if (masks.masks[0] && masks.masks[1]) return f(std::integral_constant<int, 2>());
  if (masks.masks[0]) return f(std::integral_constant<int, 1>());
  if (!(masks.scale > 0)) return f(std::integral_constant<int, 0>());
  f(std::integral_constant<int, -1>());
}

static float attention_share(const AttentionMasks& masks, float* scores, int64_t n) {
  float share = 0;
  with_masks(masks, [&](auto count) { share = share_of<decltype(count)::value>(masks, scores, n); });
  return share;
}

// `seen` is the largest number of keys that a query attends to. The loops over rows are separate for maxima,
// exponentials and sums, so that the rows do not wait for each other.
template <int Masks>
static void attention_shares(const AttentionTile& tile, int64_t seen, float* shares) {
  const auto own = [&](int64_t i) { return tile.is_causal && tile.seen + i < tile.keys ? tile.seen + i : seen; };
  AttentionMasks masks = tile.masks;
  Floats sums[AttentionTile::kMaxRows];
  for (int64_t i = 0; i < tile.rows; ++i) {
    shares[i] = mask_scores<Masks>(masks, tile.scores + i * tile.score_step, own(i))[0];
    if constexpr (Masks >= 1) masks.masks[0] += tile.mask_steps[0];
    if constexpr (Masks >= 2) masks.masks[1] += tile.mask_steps[1];
  }
  for (int64_t i = 0; i < tile.rows; ++i) {
    float* const scores = tile.scores + i * tile.score_step;
    sums[i] = exponentials<Masks>(masks, scores, own(i), shares[i]);
    for (int64_t j = (own(i) + kWidth - 1) / kWidth * kWidth; j < seen; ++j) scores[j] = 0.0f;
  }
  for (int64_t i = 0; i < tile.rows; ++i) shares[i] = inverse_sum(sums[i]);
}

// y[i, j] += x[i, j].
RL_INLINE void add_rows_of_sums(int64_t rows, int64_t columns, const float* x, int64_t x_step, float* y,
                                int64_t y_step) {
  for (int64_t i = 0; i < rows; ++i, x += x_step, y += y_step) {
    int64_t j = 0;
    for (; j + kWidth <= columns; j += kWidth) store(y + j, load(y + j) + load(x + j));
    if (j < columns) store_few(y + j, load_few(y + j, columns - j) + load_few(x + j, columns - j), columns - j);
  }
}

// Multiplies the exponentials of the scores by the values, in partial sums of kTermsOfSum keys. Each partial sum but
// the first is computed in the memory of the first scores, which are not read again.
static void attention_results(const AttentionTile& tile, int64_t seen, const float* shares) {
  static_assert(kTileVectors * kWidth <= kTermsOfSum);
  for (int64_t key = 0; key == 0 || key < seen; key += kTermsOfSum) {
    const int64_t terms = seen - key < kTermsOfSum ? seen - key : kTermsOfSum;
    for_panels(tile.width, tile.width, [&](int64_t j, int64_t vectors) {
      const int64_t left = tile.width - j, columns = left < vectors * kWidth ? left : vectors * kWidth;
      const float* const values = tile.packed_values + j * tile.keys + key * vectors * kWidth;
      float* const out = tile.out + j;
      attention_panel(tile.rows, vectors,
                      {tile.scores + key, tile.score_step, terms, values, shares, key == 0 ? out : tile.scores,
                       key == 0 ? tile.out_step : tile.score_step, columns});
      if (key > 0) add_rows_of_sums(tile.rows, columns, tile.scores, tile.score_step, out, tile.out_step);
    });
  }
}

static void attention(const AttentionTile& tile) {
  const int64_t last = tile.seen + (tile.is_causal ? tile.rows - 1 : 0);
  const int64_t seen = last < tile.keys ? last : tile.keys;
  for_panels(seen, tile.keys, [&](int64_t j, int64_t vectors) {
    attention_panel(tile.rows, vectors,
                    {tile.queries, tile.query_step, tile.depth, tile.packed_keys + j * tile.depth, nullptr,
                     tile.scores + j, tile.score_step, tile.score_step - j});
  });
  float shares[AttentionTile::kMaxRows];
  with_masks(tile.masks, [&](auto count) { attention_shares<decltype(count)::value>(tile, seen, shares); });
  attention_results(tile, seen, shares);
}

}  // namespace rushlight::microkernels::RL_ISA
