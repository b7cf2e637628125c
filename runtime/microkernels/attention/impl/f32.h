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
static void attention_gemm(const AttentionGemm& t) {
  Floats acc[Rows][Vectors];
  RL_UNROLL for (int i = 0; i < Rows; ++i) RL_UNROLL for (int j = 0; j < Vectors; ++j) acc[i][j] = Floats{};
  const float* a[Rows];
  RL_UNROLL for (int i = 0; i < Rows; ++i) a[i] = t.a + i * t.a_step;
  const float* b = t.b;
  const auto add_term = [&](int64_t k) {
    Floats row[Vectors];
    RL_UNROLL for (int j = 0; j < Vectors; ++j) row[j] = load(b + j * kWidth);
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      const Floats x = splat(a[i][k]);
      RL_UNROLL for (int j = 0; j < Vectors; ++j) acc[i][j] = add_product(acc[i][j], x, row[j]);
    }
    b += Vectors * kWidth;
  };
  constexpr int kTogether = Rows * Vectors > 16 ? 2 : 4;
  int64_t k = 0;
  for (; k + kTogether <= t.k; k += kTogether) RL_UNROLL for (int i = 0; i < kTogether; ++i) add_term(k + i);
  for (; k < t.k; ++k) add_term(k);
  RL_UNROLL for (int i = 0; i < Rows; ++i) {
    const Floats factor = splat(t.factors ? t.factors[i] : 1.0f);
    RL_UNROLL for (int j = 0; j < Vectors; ++j) {
      float* const to = t.c + i * t.c_step + j * kWidth;
      const int64_t left = t.columns - j * kWidth;
      left >= kWidth ? store(to, acc[i][j] * factor) : (left > 0 ? store_few(to, acc[i][j] * factor, left) : void());
    }
  }
}

template <int Vectors, int... I>
static void attention_gemm_of(int rows, const AttentionGemm& t, std::integer_sequence<int, I...>) {
  static constexpr void (*by_rows[])(const AttentionGemm&) = {
      &attention_gemm<rows_in_table<sizeof...(I)>(I + 1), Vectors>...};
  by_rows[rows - 1](t);
}

// Multiplies all rows, which have t.k numbers each, by columns [0, columns) of a packed matrix [depth, n].
static void attention_gemms(int64_t rows, AttentionGemm t, int64_t columns, int64_t depth, int64_t n) {
  constexpr int64_t kPanel = kTileVectors * kWidth;
  const int64_t max_tiles = (rows + kTileRows - 1) / kTileRows;
  const AttentionGemm first = t;
  for (int64_t j = 0; j < columns; j += kPanel) {
    const int64_t vectors = n - j >= kPanel ? kTileVectors : (n - j + kWidth - 1) / kWidth;
    t.b = first.b + j * depth;
    t.columns = first.columns - j;
    t.a = first.a, t.c = first.c + j, t.factors = first.factors;
    int count = 0;
    for (int64_t i = 0, tiles = max_tiles; i < rows; i += count) {
      const int64_t left = rows - i, even = rounded_rows<kTileRows>((left + tiles - 1) / tiles);
      count = rows_in_table<kTileRows>(static_cast<int>(even < left ? even : left));
      if (tiles > 1) --tiles;
      using Rows = std::make_integer_sequence<int, kTileRows>;
      if (vectors == 1) {
        attention_gemm_of<1>(count, t, Rows{});
      } else if (vectors == 2) {
        attention_gemm_of<2>(count, t, Rows{});
      } else if constexpr (kTileVectors >= 3) {
        attention_gemm_of<3>(count, t, Rows{});
      }
      t.a += count * t.a_step, t.c += count * t.c_step;
      if (t.factors) t.factors += count;
    }
  }
}

// Scales n scores, adds `Masks` masks (if -1: the scores are not changed), and returns the largest score. The last
// vector is filled with -infinity. NaN needs no check here, because the exponentials propagate it to the results.
template <int Masks>
RL_INLINE Floats mask_scores(const AttentionMasks& m, float* scores, int64_t n) {
  const Floats scale = splat(m.scale);
  const float *first = m.masks[0], *second = m.masks[1];
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
RL_INLINE Floats exponentials(const AttentionMasks& m, float* scores, int64_t n, float most) {
  if (m.may_be_empty && most == -__builtin_inff()) {
    for (int64_t i = 0; i < n; i += kWidth) store(scores + i, Floats{});
    Floats one{};
    one[0] = 1.0f;
    return one;
  }
  const Floats largest = splat(most), factor = splat((Masks >= 0 ? 1.0f : m.scale) * 1.44269504f);
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
RL_INLINE float share_of(const AttentionMasks& m, float* scores, int64_t n) {
  return inverse_sum(exponentials<Masks>(m, scores, n, mask_scores<Masks>(m, scores, n)[0]));
}

template <typename Function>
RL_INLINE void with_masks(const AttentionMasks& m, const Function& f) {
  if (m.masks[0] && m.masks[1]) return f(std::integral_constant<int, 2>());
  if (m.masks[0]) return f(std::integral_constant<int, 1>());
  if (!(m.scale > 0)) return f(std::integral_constant<int, 0>());
  f(std::integral_constant<int, -1>());
}

static float attention_share(const AttentionMasks& m, float* scores, int64_t n) {
  float share = 0;
  with_masks(m, [&](auto masks) { share = share_of<decltype(masks)::value>(m, scores, n); });
  return share;
}

// `seen` is the largest number of keys that a query attends to. The loops over rows are separate for maxima,
// exponentials and sums, so that the rows do not wait for each other.
template <int Masks>
static void attention_shares(const AttentionTile& t, int64_t seen, float* shares) {
  const auto own = [&](int64_t i) { return t.is_causal && t.seen + i < t.keys ? t.seen + i : seen; };
  AttentionMasks m = t.masks;
  Floats sums[AttentionTile::kMaxRows];
  for (int64_t i = 0; i < t.rows; ++i) {
    shares[i] = mask_scores<Masks>(m, t.scores + i * t.score_step, own(i))[0];
    if constexpr (Masks >= 1) m.masks[0] += t.mask_steps[0];
    if constexpr (Masks >= 2) m.masks[1] += t.mask_steps[1];
  }
  for (int64_t i = 0; i < t.rows; ++i) {
    float* const scores = t.scores + i * t.score_step;
    sums[i] = exponentials<Masks>(m, scores, own(i), shares[i]);
    for (int64_t j = (own(i) + kWidth - 1) / kWidth * kWidth; j < seen; ++j) scores[j] = 0.0f;
  }
  for (int64_t i = 0; i < t.rows; ++i) shares[i] = inverse_sum(sums[i]);
}

static void attention(const AttentionTile& t) {
  const int64_t last = t.seen + (t.is_causal ? t.rows - 1 : 0);
  const int64_t seen = last < t.keys ? last : t.keys;
  attention_gemms(t.rows,
                  {t.queries, t.query_step, t.depth, t.packed_keys, nullptr, t.scores, t.score_step, t.score_step},
                  seen, t.depth, t.keys);
  float shares[AttentionTile::kMaxRows];
  with_masks(t.masks, [&](auto masks) { attention_shares<decltype(masks)::value>(t, seen, shares); });
  attention_gemms(t.rows, {t.scores, t.score_step, seen, t.packed_values, shares, t.out, t.out_step, t.width}, t.width,
                  t.keys, t.width);
}

}  // namespace rushlight::microkernels::RL_ISA
