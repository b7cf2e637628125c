#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/rounding.h"
#include "microkernels/gemm/block.h"
#include "rushlight/threads/thread_pool.h"
#include "tests/microkernels/f32_fixture.h"

namespace rushlight {

#if defined(__x86_64__)
namespace microkernels::avx2_blocks {
extern const BlockMicrokernels table;
}
namespace microkernels::avx512_blocks {
extern const BlockMicrokernels table;
}
#endif

namespace microkernels {

namespace {

struct Set {
  const microkernels::F32Microkernels* floats;
  const microkernels::BlockMicrokernels* blocks;
};

// Returns the sets that this machine runs: for each float32 set, the chosen set, and the set for other processors.
std::vector<Set> all_sets() {
  std::vector<Set> sets;
#if defined(__x86_64__)
  const auto add = [&](const char* name, const microkernels::BlockMicrokernels& plain) {
    const microkernels::F32Microkernels* const floats = microkernels::f32_microkernels_named(name);
    if (floats == nullptr) return;
    const microkernels::BlockMicrokernels* const chosen = microkernels::block_microkernels(*floats);
    sets.push_back({floats, &plain});
    if (chosen != &plain) sets.push_back({floats, chosen});
  };
  add("avx2", microkernels::avx2_blocks::table);
  add("avx512", microkernels::avx512_blocks::table);
#endif
  return sets;
}

class BlocksTest : public testing::TestWithParam<Set> {
 protected:
  const microkernels::F32Microkernels& kernels = *GetParam().floats;
  const microkernels::BlockMicrokernels& blocks = *GetParam().blocks;
  std::mt19937 random{1};

  std::vector<float> numbers(int64_t n) { return microkernels::uniform_numbers(random, n); }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BlocksTest);

INSTANTIATE_TEST_SUITE_P(Sets, BlocksTest, testing::ValuesIn(all_sets()),
                         [](const auto& set) { return std::string(set.param.blocks->name); });

// A packed matrix [k, n] as in a plan, and its values.
struct Packed {
  std::vector<uint32_t> words;
  BlockMatrix matrix;
  std::vector<float> values;  // [k, n]
};

Packed packed(const microkernels::F32Microkernels& kernels, const std::vector<float>& b, int64_t k, int64_t n) {
  Packed result;
  BlockMatrix& m = result.matrix;
  const Packing packing = packing_of(kernels);
  m.k = k, m.n = n;
  m.blocks = divide_up(k, 2 * microkernels::kMaxBlockPairs);
  m.pairs = divide_up(divide_up(k, m.blocks), 2);
  result.words.assign(static_cast<size_t>(m.size(packing)), 0);
  m.words = result.words.data();
  result.values.resize(b.size());
  for (int64_t j = 0; j < n; ++j) {
    const int64_t first = j / packing.panel * packing.panel;
    const int64_t width = packing.columns(std::min(packing.panel, n - first));
    uint32_t* const panel = result.words.data() + first * m.rows();
    for (int64_t block = 0; block < m.blocks; ++block) {
      const int64_t begin = block * 2 * m.pairs, end = std::min(k, begin + 2 * m.pairs);
      double most = 0, squares = 0;
      for (int64_t l = begin; l < end; ++l) {
        const double x = b[static_cast<size_t>(l * n + j)];
        most = std::fmax(most, std::fabs(x)), squares += x * x;
      }
      const double norm = std::sqrt(squares) / (microkernels::kBlockNorm - 10);
      const float scale = static_cast<float>(std::fmax(std::fmax(most / 32767, norm), 1e-30));
      std::memcpy(panel + m.blocks * m.pairs * width + block * width + (j - first), &scale, sizeof(scale));
      for (int64_t l = begin; l < end; ++l) {
        const size_t at = static_cast<size_t>(l * n + j);
        const int number = static_cast<int>(std::lround(b[at] / scale));
        panel[l / 2 * width + (j - first)] |= static_cast<uint32_t>(number & 0xffff) << (l % 2 * 16);
        result.values[at] = static_cast<float>(number) * scale;
      }
    }
  }
  return result;
}

TEST_P(BlocksTest, NumbersAreRoundedToTheirBlocksScale) {
  for (const int64_t k : {1, 2, 7, 31, 190, 192, 193, 700}) {
    const int64_t count = divide_up(k, 2 * microkernels::kMaxBlockPairs), pairs = divide_up(divide_up(k, count), 2);
    for (const float size : {1.0f, 1e-6f, 1e15f}) {
      auto x = numbers(k);
      for (float& value : x) value *= size;
      x[static_cast<size_t>(k / 2)] *= 20;
      std::vector<uint32_t> words(static_cast<size_t>(count * pairs + 1), 0xdeadbeef);
      std::vector<float> scales(static_cast<size_t>(count));
      ASSERT_TRUE(blocks.quantize(x.data(), k, count, pairs, words.data(), scales.data()));
      EXPECT_EQ(words.back(), 0xdeadbeef) << "written behind its end";
      for (int64_t block = 0; block < count; ++block) {
        double squares = 0;
        const float scale = scales[static_cast<size_t>(block)];
        for (int64_t l = block * 2 * pairs; l < (block + 1) * 2 * pairs; ++l) {
          const int number = static_cast<int16_t>(words[static_cast<size_t>(l / 2)] >> (l % 2 * 16));
          squares += static_cast<double>(number) * number;
          ASSERT_NEAR(number * scale, l < k ? x[static_cast<size_t>(l)] : 0.0f, 0.5001f * scale) << l << " of " << k;
        }
        EXPECT_LE(squares, double{microkernels::kBlockNorm} * microkernels::kBlockNorm);
      }
    }
  }
}

TEST_P(BlocksTest, RowsThatHaveNoBlocks) {
  uint32_t words[50];
  float scales[1];
  for (const int64_t k : {5, 100}) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -1e18f}) {
      for (int64_t at = 0; at < k; at += 3) {
        auto x = numbers(k);
        x[static_cast<size_t>(at)] = bad;
        EXPECT_FALSE(blocks.quantize(x.data(), k, 1, divide_up(k, 2), words, scales)) << bad << " at " << at;
      }
    }
    const std::vector<float> tiny(static_cast<size_t>(k), 1e-12f), denormal(static_cast<size_t>(k), 1e-40f);
    EXPECT_FALSE(blocks.quantize(tiny.data(), k, 1, divide_up(k, 2), words, scales));
    EXPECT_FALSE(blocks.quantize(denormal.data(), k, 1, divide_up(k, 2), words, scales));
    const std::vector<float> zeros(static_cast<size_t>(k));
    ASSERT_TRUE(blocks.quantize(zeros.data(), k, 1, divide_up(k, 2), words, scales));
    for (int64_t l = 0; l < divide_up(k, 2); ++l) EXPECT_EQ(words[l], 0u);
  }
}

// Products on several threads. The output overwrites the residual.
struct Product {
  BlockGemm product;
  std::vector<float> scratch;

  Product(const Set& set, const BlockMatrix& matrix, const float* bias) {
    product.kernels = set.floats;
    product.blocks = set.blocks;
    product.weights = matrix;
    product.bias = bias;
  }
  std::vector<float> run(const std::vector<float>& a, std::vector<float> c, int64_t m, int64_t step, size_t threads) {
    HostThreadPool pool(threads);
    KernelRuntimeContext context(nullptr, &pool);
    product.prepare(m, product.weights.k, step, step);
    scratch.assign(product.scratch_floats(static_cast<int64_t>(threads)) + 16, 0.0f);
    float* const aligned = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64);
    product.run(context, static_cast<int64_t>(threads), a.data(), c.data(), c.data(), aligned, {});
    return c;
  }
};

TEST_P(BlocksTest, ProductsOfRows) {
  const int64_t panel = packing_of(kernels).panel, vector = kernels.width;
  for (const int64_t k : {int64_t{1}, int64_t{7}, int64_t{192}, int64_t{385}, int64_t{2000}}) {
    for (const int64_t n : {vector - 3, panel, 2 * panel + 1, 5 * panel}) {
      for (const int64_t m : {1, kernels.gemm_rows + 1, 3 * kernels.gemm_rows - 1}) {
        const int64_t step = n + 3;
        const auto a = numbers(m * k), b = numbers(k * n), bias = numbers(round_up(n, 64)), start = numbers(m * step);
        const Packed rhs = packed(kernels, b, k, n);
        Product product(GetParam(), rhs.matrix, bias.data());
        product.product.epilogue.clamps = true;
        product.product.epilogue.low = -0.5f;
        product.product.epilogue.high = 40;
        const auto c = product.run(a, start, m, step, 1);
        ASSERT_EQ(c, product.run(a, start, m, step, 2)) << "depends on the threads";
        const double most = 2e-4 * std::sqrt(static_cast<double>(k));
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < step; ++j) {
            double sum = start[static_cast<size_t>(i * step + j)];
            if (j < n) {
              sum += bias[static_cast<size_t>(j)];
              for (int64_t l = 0; l < k; ++l) {
                sum += double{a[static_cast<size_t>(i * k + l)]} * rhs.values[static_cast<size_t>(l * n + j)];
              }
              sum = std::fmin(std::fmax(sum, -0.5), 40.0);
            }
            ASSERT_NEAR(c[static_cast<size_t>(i * step + j)], sum, most) << k << " " << n << " " << i << " " << j;
          }
        }
      }
    }
  }
}

// More than one block of rows, and incomplete last blocks.
TEST_P(BlocksTest, ManyRows) {
  const int64_t k = 40, n = 5;
  const auto b = numbers(k * n);
  const Packed rhs = packed(kernels, b, k, n);
  for (const int64_t m : {224, 238, 239, 240, 241, 250, 480, 481, 719, 960, 2000}) {
    const auto a = numbers(m * k), start = numbers(m * n);
    Product product(GetParam(), rhs.matrix, nullptr);
    const auto c = product.run(a, start, m, n, 1);
    for (const size_t threads : {2, 3}) ASSERT_EQ(c, product.run(a, start, m, n, threads)) << m;
    for (int64_t i = 0; i < m; i += 7) {
      const std::vector<float> row(a.begin() + i * k, a.begin() + (i + 1) * k);
      const std::vector<float> before(start.begin() + i * n, start.begin() + (i + 1) * n);
      const std::vector<float> after(c.begin() + i * n, c.begin() + (i + 1) * n);
      ASSERT_EQ(after, product.run(row, before, 1, n, 1)) << i << " of " << m;
    }
  }
}

// Sums never overflow int32: these sums have the largest possible magnitude.
TEST_P(BlocksTest, LargestSums) {
  for (const int64_t k : {2, 10, 192}) {
    const int64_t n = 3, m = kernels.gemm_rows;
    std::vector<float> a(static_cast<size_t>(m * k), 3.0f), b(static_cast<size_t>(k * n), -5.0f);
    const std::vector<float> bias(64), start(static_cast<size_t>(m * n));
    const Packed rhs = packed(kernels, b, k, n);
    const auto c = Product(GetParam(), rhs.matrix, bias.data()).run(a, start, m, n, 1);
    for (const float value : c) EXPECT_NEAR(value, -15.0f * static_cast<float>(k), 6e-3f * static_cast<float>(k));
  }
}

// Rows that blocks cannot represent are computed in float, and do not change other rows.
TEST_P(BlocksTest, InfinitiesReachTheirOwnRowsAlone) {
  const int64_t k = 2000, n = packing_of(kernels).panel + 2, m = 3 * kernels.gemm_rows;
  auto a = numbers(m * k);
  const auto b = numbers(k * n), bias = numbers(round_up(n, 64)), start = numbers(m * n);
  const Packed rhs = packed(kernels, b, k, n);
  Product product(GetParam(), rhs.matrix, bias.data());
  const auto plain = product.run(a, start, m, n, 1);
  a[static_cast<size_t>(5 * k + 1999)] = std::numeric_limits<float>::infinity();
  a[static_cast<size_t>(2 * kernels.gemm_rows * k + 3)] = std::numeric_limits<float>::quiet_NaN();
  for (int64_t l = 0; l < k; ++l) a[static_cast<size_t>(7 * k + l)] *= 1e-20f;
  for (const size_t threads : {1, 2}) {
    const auto c = product.run(a, start, m, n, threads);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const size_t at = static_cast<size_t>(i * n + j);
        if (i == 5) {
          EXPECT_EQ(c[at], b[static_cast<size_t>(1999 * n + j)] > 0 ? HUGE_VALF : -HUGE_VALF);
        } else if (i == 7) {
          EXPECT_FLOAT_EQ(c[at], start[at] + bias[static_cast<size_t>(j)]);
        } else if (i == 2 * kernels.gemm_rows) {
          EXPECT_TRUE(std::isnan(c[at]));
        } else {
          EXPECT_EQ(c[at], plain[at]) << i << " " << j;
        }
      }
    }
  }
}

}  // namespace
}  // namespace microkernels
}  // namespace rushlight
