#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "core/cpu_features.h"
#include "microkernels/tables/isas.h"
#include "tests/microkernels/dot_products.h"
#include "tests/microkernels/f32_fixture.h"
#include "tests/microkernels/packed_matrix.h"

namespace rushlight {

namespace microkernels::wide {
extern const F32Microkernels table;
}
namespace microkernels::wide_pairs {
extern const Bf16PairMicrokernels table;
}
#if RL_HAS_AVX512
namespace microkernels::avx512bf16_pairs {
extern const Bf16PairMicrokernels table, amx_table;
}
#endif

namespace microkernels {

namespace {

struct Set {
  const microkernels::F32Microkernels* floats;
  const microkernels::Bf16PairMicrokernels* pairs;
};

// Returns the sets that this machine runs (with emulated instructions if necessary), and on AVX2 a set of 16 floats.
std::vector<Set> all_sets() {
  std::vector<Set> sets;
#if RL_HAS_AVX512
  if (const microkernels::F32Microkernels* floats = microkernels::f32_microkernels_named("avx512")) {
    const CpuFeatures& features = cpu_features();
    sets.push_back({floats, features.avx512bf16 ? &avx512bf16_pairs::table : microkernels::assisted_pairs()});
    if (features.avx512amx && features.avx512bf16) sets.push_back({floats, &avx512bf16_pairs::amx_table});
  }
#endif
#if defined(__x86_64__)
  if (microkernels::f32_microkernels_named("avx2"))
    sets.push_back({&microkernels::wide::table, &microkernels::wide_pairs::table});
#endif
  return sets;
}

class PairsTest : public testing::TestWithParam<Set> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PairsTest);

INSTANTIATE_TEST_SUITE_P(Sets, PairsTest, testing::ValuesIn(all_sets()),
                         [](const auto& set) { return std::string(set.param.pairs->name); });

float rounded(float x) {
  const microkernels::F16Microkernels& f16 = *microkernels::f16_microkernels_named("generic");
  uint16_t bits;
  f16.narrow(microkernels::F16Type::BFloat16, &x, 1, &bits);
  f16.widen(microkernels::F16Type::BFloat16, &bits, 1, &x);
  return x;
}

// Products of rounded numbers. The sums are not rounded in between, except to float32.
TEST_P(PairsTest, ProductsOfRoundedRows) {
  const microkernels::F32Microkernels& kernels = *GetParam().floats;
  const microkernels::F16Microkernels& f16 = microkernels::f16_microkernels();
  const int64_t panel = packing_of(kernels).panel, vector = kernels.width;
  std::mt19937 random{1};
  const auto numbers = [&](int64_t n) { return microkernels::uniform_numbers(random, n); };
  for (const int64_t k : {int64_t{1}, int64_t{7}, int64_t{32}, int64_t{1024}, 2 * kMaxDepth + 3, 3 * kMaxDepth - 1}) {
    for (const int64_t n : {vector - 3, panel, 2 * panel + 1}) {
      for (const int64_t m : {kernels.gemm_rows + 1, 3 * kernels.gemm_rows - 1}) {
        const int64_t columns = packing_of(kernels).columns(n), step = n + 3;
        const auto a = numbers(m * k), b = numbers(k * n), bias = numbers(columns), start = numbers(m * step);
        const PackedMatrix packed(kernels, b, k, n);
        std::vector<uint16_t> stored(static_cast<size_t>(packed.size()));
        f16.narrow(microkernels::F16Type::BFloat16, packed.data(), packed.size(), stored.data());
        const auto rows = rows_of(a, k);
        std::vector<float> c = start;
        std::vector<float> widened(static_cast<size_t>(k * panel + 16));
        std::vector<uint32_t> pairs(static_cast<size_t>(m * padded_pairs(depth_of_part(1, k))));
        Panels p{};
        p.kernels = &kernels;
        p.rows = rows.data();
        p.row_step = p.m = m;
        p.row_gap = k;  // a distance of 4 KB changes the tiles of float32 products, but not these
        p.taps = 1;
        p.k = k;
        p.n = n;
        p.b.f16 = stored.data();
        p.b.type = microkernels::F16Type::BFloat16;
        p.widened = widened.data();
        p.pairs = GetParam().pairs;
        p.rounded = pairs.data();
        p.bias = bias.data();
        p.c = c.data();
        p.c_step = p.epilogue.residual_step = step;
        p.epilogue.residual = c.data();
        p.epilogue.clamps = true;
        p.epilogue.low = -0.5f;
        p.epilogue.high = 40;
        multiply(p, 0, (n + panel - 1) / panel);
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < step; ++j) {
            const size_t at = static_cast<size_t>(i * step + j);
            double sum = start[at];
            if (j < n) {
              sum += bias[static_cast<size_t>(j)];
              for (int64_t l = 0; l < k; ++l) {
                sum += static_cast<double>(rounded(a[static_cast<size_t>(i * k + l)])) *
                       rounded(b[static_cast<size_t>(l * n + j)]);
              }
              sum = std::fmin(std::fmax(sum, -0.5), 40.0);
            }
            ASSERT_NEAR(c[at], sum, 2e-7 * std::sqrt(static_cast<double>(k)) * 30) << k << " " << i << " " << j;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace microkernels
}  // namespace rushlight
