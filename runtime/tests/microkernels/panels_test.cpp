#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "microkernels/gemm/f32_panels.h"
#include "tests/microkernels/f32_fixture.h"
#include "tests/microkernels/packed_matrix.h"

namespace rushlight {

namespace microkernels {

namespace {

class PanelsTest : public microkernels::F32Fixture {};

INSTANTIATE_TEST_SUITE_P(Sets, PanelsTest, testing::ValuesIn(microkernels::all_sets()), microkernels::name_of);

// Reading a row of padding would give NaN. The tap of this row is a separate sum, or a part of one.
TEST_P(PanelsTest, TapsOverThePaddingAreSkipped) {
  const int64_t panel = packing_of(kernels).panel, taps = 3, few = kernels.gemm_rows - 1;
  const microkernels::F16Microkernels& f16 = microkernels::f16_microkernels();
  for (const int64_t m : {few, 2 * few + 3}) {
    for (const int64_t k : {int64_t{300}, 2 * kMaxDepth}) {
      const int64_t n = panel + 1;
      auto b = numbers(taps * k * n);
      const auto a = numbers(m * k);
      const PackedMatrix packed(kernels, b, taps * k, n);
      std::vector<uint16_t> stored(static_cast<size_t>(packed.size()));
      f16.narrow(microkernels::F16Type::BFloat16, packed.data(), packed.size(), stored.data());
      PackedWeights shorts;
      shorts.f16 = stored.data();
      shorts.type = microkernels::F16Type::BFloat16;
      const std::vector<float> padding(static_cast<size_t>(k), std::numeric_limits<float>::quiet_NaN());
      const std::vector<float> zeros(static_cast<size_t>(k), 0.0f);
      // Long products have a part for each tap. The first and the last part are always computed.
      const bool has_parts = k > kMaxDepth;
      for (int64_t tap = has_parts; tap < taps - has_parts; ++tap) {
        const auto product = [&](const PackedWeights& weights, const float* zero, const float* given) {
          std::vector<const float*> rows;
          for (int64_t i = 0; i < taps * m; ++i) rows.push_back(i / m == tap ? zero : a.data() + i % m * k);
          std::vector<float> c(static_cast<size_t>(m * n)), widened(static_cast<size_t>(taps * k * panel));
          Panels p{};
          p.kernels = &kernels;
          p.rows = rows.data();
          p.row_step = p.m = m;
          p.zeros = given;
          p.widened = widened.data();
          p.taps = taps;
          p.k = k;
          p.n = n;
          p.b = weights;
          p.c = c.data();
          p.c_step = n;
          multiply(p, 0, (n + panel - 1) / panel);
          return c;
        };
        EXPECT_EQ(product(packed.data(), padding.data(), padding.data()),
                  product(packed.data(), zeros.data(), nullptr));
        if (m > few) continue;
        EXPECT_EQ(product(shorts, padding.data(), padding.data()), product(shorts, zeros.data(), nullptr));
      }
    }
  }
}

// The output overwrites the residual. Deep products of many rows are summed in parts, those of few rows at once.
TEST_P(PanelsTest, DeepProductsOntoTheirResidual) {
  const int64_t panel = packing_of(kernels).panel;
  for (const int64_t k : {int64_t{5}, int64_t{1024}, 2 * kMaxDepth + 3}) {
    for (const int64_t n : {panel - 1, 2 * panel, 3 * panel + 1}) {
      const int64_t m = 3 * kernels.gemm_rows + 1, step = n + 3;
      const auto a = numbers(m * k), b = numbers(k * n), bias = numbers(n + panel), start = numbers(m * step);
      const PackedMatrix packed(kernels, b, k, n);
      const auto rows = rows_of(a, k);
      std::vector<float> c = start, few = start;
      Panels p{};
      p.kernels = &kernels;
      p.rows = rows.data();
      p.row_step = p.m = m;
      p.row_gap = k;
      p.taps = 1;
      p.k = k;
      p.n = n;
      p.b = packed.data();
      p.bias = bias.data();
      p.c = c.data();
      p.c_step = step;
      p.epilogue.residual = c.data();
      p.epilogue.residual_step = step;
      p.epilogue.clamps = true;
      p.epilogue.low = -3;
      p.epilogue.high = 3;
      p.epilogue.applies = true;
      p.epilogue.op = microkernels::UnaryOp::Abs;
      multiply(p, 0, (n + panel - 1) / panel);
      p.m = p.row_step = kernels.gemm_rows;
      p.c = few.data();
      p.epilogue.residual = few.data();
      multiply(p, 0, (n + panel - 1) / panel);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < step; ++j) {
          const size_t at = static_cast<size_t>(i * step + j);
          if (j >= n) {
            ASSERT_EQ(c[at], start[at]);
            continue;
          }
          double sum = bias[static_cast<size_t>(j)] + start[at];
          for (int64_t l = 0; l < k; ++l) {
            sum += static_cast<double>(a[static_cast<size_t>(i * k + l)]) * b[static_cast<size_t>(l * n + j)];
          }
          ASSERT_NEAR(c[at], std::min(3.0, std::abs(sum)), 1e-4) << k << " " << n << " " << i << " " << j;
          if (i < kernels.gemm_rows) {
            ASSERT_EQ(c[at], few[at]);
          }
        }
      }
    }
  }
}

// Tiles with half vectors and fewer rows, which only some processors use, give the same bits as full tiles. The rows of
// the second tap begin at their third number.
TEST_P(PanelsTest, HalfVectorsAreTheSame) {
  const F32HalfMicrokernels* const halves = f32_half_microkernels_of(kernels);
  if (halves == nullptr) return;  // this set has no half vectors
  const int64_t panel = packing_of(kernels).panel;
  std::vector<char> next(4096);
  for (const int64_t k : {int64_t{1}, int64_t{6}, int64_t{19}, int64_t{300}}) {
    for (int64_t n = 1; n <= panel + 5; ++n) {
      for (const int64_t m : {int64_t{1}, int64_t{7}, int64_t{10}, int64_t{11}, int64_t{29}}) {
        for (const bool fetches : {false, true}) {
          const int64_t taps = 2, step = n + 3, length = k + 2;
          const auto a = numbers(taps * m * length), b = numbers(taps * k * n), bias = numbers(n + panel);
          const auto start = numbers(m * step);
          const PackedMatrix packed(kernels, b, taps * k, n);
          const auto rows = rows_of(a, length);
          Panels p{};
          p.kernels = &kernels;
          p.rows = rows.data();
          p.row_step = p.m = m;
          p.row_gap = length;
          p.channel = 2;
          p.taps = taps;
          p.k = k;
          p.n = n;
          p.b = packed.data();
          p.bias = bias.data();
          p.c_step = step;
          p.epilogue.residual_step = step;
          p.epilogue.clamps = true;
          p.epilogue.low = -3;
          p.epilogue.high = 3;
          if (fetches) p.ahead = {next.data(), static_cast<int64_t>(next.size())};
          std::vector<float> whole = start, halved = start;
          p.c = whole.data();
          p.epilogue.residual = whole.data();
          multiply(p, 0, (n + panel - 1) / panel);
          p.halves = halves;
          p.c = halved.data();
          p.epilogue.residual = halved.data();
          multiply(p, 0, (n + panel - 1) / panel);
          ASSERT_EQ(whole, halved) << k << " " << n << " " << m;
        }
      }
    }
  }
}

// One to all rows, times every number of vectors, with weights of every type.
TEST_P(PanelsTest, FewRowsAndWeightsOfSixteenBits) {
  const int64_t vector = kernels.width, panel = packing_of(kernels).panel, k = 11;
  const microkernels::F16Microkernels& f16 = microkernels::f16_microkernels();
  for (int64_t n = vector - 1; n < 8 * panel; n += n < panel ? vector : panel - 1) {
    const int64_t columns = packing_of(kernels).columns(n);
    const auto x = numbers(kernels.gemm_rows * k), b = numbers(k * n), bias = numbers(columns), addend = numbers(n);
    const PackedMatrix packed(kernels, b, k, n);
    std::vector<float> rounded(static_cast<size_t>(packed.size()));
    std::vector<uint16_t> stored(rounded.size());
    microkernels::Epilogue e{};
    e.residual = addend.data();
    const auto expect = [&](const std::vector<float>& c, int64_t row, int64_t first, int64_t last, const float* weights,
                            const float* more) {
      for (int64_t j = first; j < last; ++j) {
        const int64_t begin = j / panel * panel, step = std::min(panel, columns - begin);
        double sum = bias[static_cast<size_t>(j)] + (more ? more[j] : 0.0f);
        for (int64_t l = 0; l < k; ++l) {
          sum += static_cast<double>(x[static_cast<size_t>(row * k + l)]) * weights[begin * k + l * step + j - begin];
        }
        ASSERT_NEAR(c[static_cast<size_t>(j - first)], sum, 1e-5) << n << " " << row << " " << j;
      }
    };
    std::vector<float> c(static_cast<size_t>(n));
    kernels.packed->row(x.data(), k, packed.data(), bias.data(), c.data(), n, true, e);
    expect(c, 0, 0, n, packed.data(), addend.data());
    for (const microkernels::F16Type type : {microkernels::F16Type::Float16, microkernels::F16Type::BFloat16}) {
      f16.narrow(type, packed.data(), packed.size(), stored.data());
      f16.widen(type, stored.data(), packed.size(), rounded.data());
      kernels.packed->f16_row(type, x.data(), k, stored.data(), bias.data(), c.data(), n, n % 2 == 0, e);
      expect(c, 0, 0, n, rounded.data(), addend.data());
      const int64_t first = (n - 1) / panel * panel;
      for (int rows = 1; kernels.packed->f16_panel && rows <= kernels.gemm_rows; ++rows) {
        std::vector<float> sums(static_cast<size_t>(rows * (n - first)));
        const auto lines = rows_of(x, k);
        microkernels::PanelTile tile{};
        tile.rows = lines.data();
        tile.row_step = rows;
        tile.taps = 1;
        tile.k = k;
        tile.b = stored.data() + first * k;
        tile.bias = bias.data() + first;
        tile.c = sums.data();
        tile.c_step = tile.columns = n - first;
        kernels.packed->f16_panel(type, rows, static_cast<int>((columns - first) / vector), tile);
        for (int i = 0; i < rows; ++i) {
          const auto line = sums.begin() + i * (n - first);
          expect(std::vector<float>(line, line + (n - first)), i, first, n, rounded.data(), nullptr);
        }
      }
    }
  }
}

TEST_P(PanelsTest, SharesOfARow) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const int64_t n : {1, 3, 16, 33, 1000}) {
    for (const int masks : {0, 1, 2}) {
      const auto x = numbers(n), mask = numbers(n);
      std::vector<float> y(static_cast<size_t>(n) + 16, 77.0f);
      std::copy(x.begin(), x.begin() + n, y.begin());
      const microkernels::AttentionMasks m{
          2.5f, {masks > 0 ? mask.data() : nullptr, masks > 1 ? x.data() : nullptr}, false};
      const float share = kernels.packed->attention_share(m, y.data(), n);
      const auto score = [&](size_t i) {
        return 2.5 * x[i] + (masks > 0 ? mask[i] : 0.0f) + (masks > 1 ? x[i] : 0.0f);
      };
      double sum = 0;
      for (size_t i = 0; i < static_cast<size_t>(n); ++i) sum += std::exp(score(i));
      for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
        ASSERT_NEAR(y[i] * share, std::exp(score(i)) / sum, 1e-6) << n << " " << masks << " " << i;
      }
      EXPECT_EQ(y[static_cast<size_t>((n + kernels.width - 1) / kernels.width * kernels.width)], 77.0f);
    }
  }
  std::vector<float> none(40, -kInfinity);
  EXPECT_TRUE(std::isnan(kernels.packed->attention_share({1.0f, {}, false}, none.data(), 21)));
  std::fill(none.begin(), none.end(), -kInfinity);
  EXPECT_EQ(kernels.packed->attention_share({1.0f, {}, true}, none.data(), 21), 1.0f);
  for (size_t i = 0; i < 21; ++i) EXPECT_EQ(none[i], 0.0f);
}

}  // namespace

}  // namespace microkernels

}  // namespace rushlight
