#include "kernels/optimized/tiles/byte_tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/optimized/tiles/byte_product.h"
#include "kernels/optimized/tiles/byte_window.h"
#include "tests/tiles/dot_products.h"

namespace rushlight::tiles {

namespace fours_bytes {
extern const ByteTiles tiles;
}

namespace {

std::vector<const ByteTiles*> all_sets() {
  std::vector<const ByteTiles*> sets = assisted_sets();
  sets.push_back(&fours_bytes::tiles);
  for (const char* name :
       {"generic", "neon", "neon_dotprod", "neon_i8mm", "rvv", "rvv256", "avx2", "avxvnni", "avx512", "avx512vnni"}) {
    if (const ByteTiles* set = byte_tiles_named(name)) sets.push_back(set);
  }
  return sets;
}

// Aligned for vectors of any width.
struct Buffer {
  explicit Buffer(size_t bytes) : storage(bytes + 64) {}
  void* data() {
    const auto address = reinterpret_cast<uintptr_t>(storage.data());
    return reinterpret_cast<void*>((address + 63) / 64 * 64);
  }
  std::vector<uint8_t> storage;
};

class ByteTilesTest : public testing::TestWithParam<const ByteTiles*> {
 protected:
  const ByteTiles& tiles = *GetParam();
  std::mt19937 random{1};

  // Extremes are common among them.
  std::vector<int8_t> numbers(int64_t n) {
    std::uniform_int_distribution<int> uniform(-160, 160);
    std::vector<int8_t> values(static_cast<size_t>(n));
    for (int8_t& value : values) value = static_cast<int8_t>(std::clamp(uniform(random), -128, 127));
    return values;
  }
  // For tests of many products.
  bool is_slow() const {
    const auto slow = assisted_sets();
    return std::find(slow.begin(), slow.end(), &tiles) != slow.end();
  }
  std::vector<float> reals(int64_t n, float least, float most) {
    std::uniform_real_distribution<float> uniform(least, most);
    std::vector<float> values(static_cast<size_t>(n));
    for (float& value : values) value = uniform(random);
    return values;
  }
};

INSTANTIATE_TEST_SUITE_P(Sets, ByteTilesTest, testing::ValuesIn(all_sets()),
                         [](const testing::TestParamInfo<const ByteTiles*>& set) {
                           return std::string(set.param->name);
                         });

int64_t exact(const std::vector<int8_t>& left, const std::vector<int8_t>& right, int64_t k, int64_t i, int64_t j,
              int32_t zero = 0) {
  int64_t sum = 0;
  for (int64_t l = 0; l < k; ++l) {
    sum += int64_t{left[static_cast<size_t>(i * k + l)] - zero} * right[static_cast<size_t>(j * k + l)];
  }
  return sum;
}

TEST_P(ByteTilesTest, TilesOfEverySizeAreExact) {
  for (const int64_t k : {1, 2, 3, 4, 37, 130}) {
    for (int rows = 1; rows <= tiles.rows; ++rows) {
      for (int vectors = 1; vectors <= tiles.vectors; ++vectors) {
        const int64_t width = vectors * tiles.lanes, groups = (k + tiles.group - 1) / tiles.group;
        const auto left = numbers(rows * k), right = numbers(width * k);
        Buffer packed(packed_right_size(tiles, width, k));
        pack_right(tiles, right.data(), k, width, k, packed.data());
        const int64_t stride = groups * tiles.group;
        Buffer rows_of_left(static_cast<size_t>(rows * stride * tiles.left_size));
        for (int64_t i = 0; i < rows; ++i) {
          uint8_t* to = static_cast<uint8_t*>(rows_of_left.data()) + i * stride * tiles.left_size;
          tiles.fill_left(77, stride, to);
          tiles.pack_left(reinterpret_cast<const uint8_t*>(left.data()) + i * k, 0, k, to);
        }
        Buffer sums(static_cast<size_t>(rows * width) * 4);
        int32_t* const result = static_cast<int32_t*>(sums.data());
        const int8_t* panel = static_cast<const int8_t*>(packed.data()) + (width * 4 + 63) / 64 * 64;
        ByteTile tile{rows_of_left.data(), stride, panel, groups, result, width, false};
        for (const int times : {1, 2}) {
          tile.accumulate = times == 2;
          tiles.gemm(rows, vectors, tile);
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < width; ++j) {
              const int64_t want = exact(left, right, k, i, j, -tiles.left_offset) * times;
              ASSERT_EQ(result[i * width + j], want) << rows << "x" << vectors << " k " << k;
            }
          }
        }
      }
    }
  }
}

TEST_P(ByteTilesTest, LeftNumbersOfBothSigns) {
  const int64_t k = 75;
  const auto left = numbers(k);
  std::vector<uint8_t> as_unsigned;
  for (const int8_t x : left) as_unsigned.push_back(static_cast<uint8_t>(x + 128));
  std::vector<uint8_t> a(static_cast<size_t>(k * tiles.left_size) + 1, 99), b(a);
  tiles.pack_left(reinterpret_cast<const uint8_t*>(left.data()), 0, k, a.data());
  tiles.pack_left(as_unsigned.data(), 0x80, k, b.data());
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.back(), 99);
}

int32_t rounded(double x, const Requantize& how) {
  return static_cast<int32_t>(std::clamp(std::nearbyint(x) + how.zero, double(how.least), double(how.most)));
}

TEST_P(ByteTilesTest, RequantizeRoundsTiesToEvenAndClamps) {
  std::vector<int32_t> sums;
  for (int32_t i = -700; i <= 700; ++i) sums.push_back(i);
  for (const int32_t big : {1 << 30, -(1 << 30), INT32_MAX / 2}) sums.push_back(big);
  const auto n = static_cast<int64_t>(sums.size());
  const std::vector<float> half(sums.size(), 0.5f), offset(sums.size(), 0.25f);
  const std::vector<int32_t> correction(sums.size(), 3);
  for (const Requantize& how :
       {Requantize{nullptr, half.data(), nullptr, 0, -128, 127}, Requantize{nullptr, half.data(), nullptr, 7, 0, 255},
        Requantize{correction.data(), half.data(), offset.data(), -5, -5, 100}}) {
    for (const int64_t count : {n, n - 1, int64_t{3}}) {
      std::vector<uint8_t> out(static_cast<size_t>(count) + 1, 77);
      tiles.requantize(how, {sums.data(), count, 1, count, count}, out.data());
      for (int64_t i = 0; i < count; ++i) {
        const auto at = static_cast<size_t>(i);
        const double x = (sums[at] + (how.correction ? 3.0 : 0.0)) * 0.5 + (how.offset ? 0.25 : 0.0);
        ASSERT_EQ(out[at], static_cast<uint8_t>(rounded(x, how))) << sums[at];
      }
      EXPECT_EQ(out.back(), 77);
    }
  }
}

TEST_P(ByteTilesTest, RequantizedNumbersAreAddedAsByThemselves) {
  const int64_t rows = 5, columns = 59, step = 64, out_step = 71;
  const std::vector<float> multiplier = reals(columns, 0.001f, 0.4f), offset = reals(columns, -40, 40);
  std::vector<int32_t> sums(static_cast<size_t>(rows * step)), correction(static_cast<size_t>(columns));
  for (int32_t& sum : sums) sum = static_cast<int32_t>(random() % 4000) - 2000;
  for (int32_t& number : correction) number = static_cast<int32_t>(random() % 200);
  const std::vector<int8_t> others = numbers(rows * out_step);
  for (const bool has_offset : {false, true}) {
    for (const int32_t least : {-128, -17}) {
      Requantize how{correction.data(), multiplier.data(), has_offset ? offset.data() : nullptr, -17, least, 120};
      const SumRows from{sums.data(), step, rows, columns, out_step};
      const ByteRange range{3, least == -128 ? -128 : 3, 127};
      std::vector<uint8_t> apart(others.size(), 77), out(others.begin(), others.end());
      tiles.requantize(how, from, apart.data());
      how.sum = {reinterpret_cast<const int8_t*>(out.data()), 0.73f, -1.31f, 5.5f, range};
      for (int64_t i = 0; i < rows; ++i) {
        int8_t* const row = reinterpret_cast<int8_t*>(apart.data()) + i * out_step;
        tiles.loops.add(row, others.data() + i * out_step, columns, 0.73f, -1.31f, 5.5f, range, row);
      }
      std::vector<uint8_t> flipped(out);
      tiles.requantize(how, from, out.data());
      for (uint8_t& byte : flipped) byte ^= 0x80;
      how.sum.others = reinterpret_cast<const int8_t*>(flipped.data()), how.sum.flip = 0x80;
      tiles.requantize(how, from, flipped.data());
      for (int64_t i = 0; i < rows * out_step; ++i) {
        const auto at = static_cast<size_t>(i);
        ASSERT_EQ(out[at], i % out_step < columns ? apart[at] : static_cast<uint8_t>(others[at])) << i;
        ASSERT_EQ(flipped[at], i % out_step < columns ? out[at] : static_cast<uint8_t>(others[at] ^ 0x80)) << i;
      }
    }
  }
}

TEST_P(ByteTilesTest, RowsOfNumbersArePackedAsByThemselves) {
  if (!tiles.pack_rows) GTEST_SKIP() << "rows are packed one by one";
  for (const int64_t k : {1, 24, 63, 64, 130, 192}) {
    const int64_t rows = 5, from_stride = k + 3, stride = (k + 63) / 64 * 64 + 64;
    const auto left = numbers(rows * from_stride);
    const auto* from = reinterpret_cast<const uint8_t*>(left.data());
    for (const uint8_t flip : {uint8_t{0}, uint8_t{0x80}}) {
      std::vector<uint8_t> want(static_cast<size_t>(rows * stride * tiles.left_size)), got(want);
      tiles.pack_rows({from, from_stride, flip, k, stride}, rows, got.data());
      for (int64_t i = 0; i < rows; ++i) {
        tiles.pack_left(from + i * from_stride, flip, k, want.data() + i * stride * tiles.left_size);
        for (int64_t j = 0; j < k * tiles.left_size; ++j) {
          const auto at = static_cast<size_t>(i * stride * tiles.left_size + j);
          ASSERT_EQ(got[at], want[at]) << "k " << k << " row " << i;
        }
      }
    }
  }
}

TEST_P(ByteTilesTest, ResultsOfTilesAreThoseOfTheirSums) {
  if (!tiles.gemm_results) GTEST_SKIP() << "tiles give sums alone";
  const int64_t groups = 9, k = groups * tiles.group;
  for (int rows = 1; rows <= tiles.rows; ++rows) {
    for (int vectors = 1; vectors <= tiles.vectors; ++vectors) {
      for (const int64_t missing : {0, 5}) {
        const int64_t width = vectors * tiles.lanes, columns = width - missing, out_stride = width + 3;
        const auto left = numbers(rows * k), right = numbers(width * k), others = numbers(rows * out_stride);
        Buffer packed(packed_right_size(tiles, width, k)), sums(static_cast<size_t>(rows * width) * 4);
        pack_right(tiles, right.data(), k, width, k, packed.data());
        std::vector<uint8_t> rows_of_left(static_cast<size_t>(rows * k * tiles.left_size));
        tiles.pack_left(reinterpret_cast<const uint8_t*>(left.data()), 0, rows * k, rows_of_left.data());
        int32_t* const sums_of_rows = static_cast<int32_t*>(sums.data());
        ByteTile tile{rows_of_left.data(), k, panels_of(packed.data(), width), groups, sums_of_rows, width, false};
        tile.half_step = (rows + 1) / 2 * k;
        tiles.gemm(rows, vectors, tile);
        const SumRows from{sums_of_rows, width, rows, columns, out_stride};
        const auto size = static_cast<size_t>(rows * out_stride);
        const auto small = reals(width, -2e-3f, 2e-3f), large = reals(width, -1e7f, 1e7f), offset = reals(width, -9, 9);
        std::vector<int32_t> corrections(static_cast<size_t>(width)), zeros(static_cast<size_t>(rows));
        zero_corrections(tiles, packed.data(), width, 11, nullptr, corrections.data());
        for (size_t i = 0; i < zeros.size(); ++i) zeros[i] = static_cast<int32_t>(i) - 3;
        const ByteSum sum{others.data(), 0.73f, -1.31f, 5.5f, {3, -128, 127}};
        for (const Requantize& how : {Requantize{corrections.data(), small.data(), offset.data(), -5, -128, 127},
                                      Requantize{nullptr, small.data(), nullptr, 3, 0, 255},
                                      Requantize{corrections.data(), large.data(), offset.data(), -5, -100, 90},
                                      Requantize{corrections.data(), small.data(), offset.data(), -5, -128, 90, sum},
                                      Requantize{nullptr, large.data(), nullptr, 0, -128, 127, sum}}) {
          std::vector<uint8_t> want(size, 77), got(want);
          tiles.requantize(how, from, want.data());
          PanelEnd panel;
          tiles.prepare_bytes(vectors, how, columns, &panel);
          tiles.gemm_results(rows, vectors, tile, {&panel, nullptr, got.data(), out_stride, columns, how.sum.others});
          ASSERT_EQ(got, want) << rows << "x" << vectors << " columns " << columns;
        }
        const auto scales = reals(rows, 0.1f, 0.2f);
        for (const int64_t step : {0, 1}) {
          for (const bool accumulate : {false, true}) {
            const Dequantize how{zeros.data(),
                                 scales.data(),
                                 step,
                                 tiles.left_offset,
                                 right_sums(packed.data()),
                                 small.data(),
                                 accumulate ? nullptr : offset.data(),
                                 -20.0f,
                                 30.0f,
                                 accumulate};
            std::vector<float> want = reals(rows * out_stride, -5, 5), got(want);
            tiles.dequantize(how, from, want.data());
            PanelEnd panel;
            tiles.prepare_reals(vectors, how, columns, &panel);
            tiles.gemm_results(rows, vectors, tile, {&panel, &how, got.data(), out_stride, columns});
            ASSERT_EQ(got, want) << rows << "x" << vectors << " columns " << columns;
          }
        }
      }
    }
  }
}

TEST_P(ByteTilesTest, ResultsBehindTheNextTileAreThoseOfTheirSums) {
  if (!tiles.gemm_behind) GTEST_SKIP() << "no tile waits for the next one";
  const int64_t rows = tiles.rows, width = tiles.vectors * tiles.lanes, out_stride = width + 3;
  for (const int64_t groups : {kLeastBehind, kLeastBehind + 1, kLeastBehind + 15, 2 * kLeastBehind}) {
    for (const int64_t runs : {1, 3}) {
      // Runs lie further apart than they are long, and halves of rows further than rows do.
      const int64_t run = groups * tiles.group, k = runs * run, run_step = 2 * run, stride = runs * run_step;
      const int64_t half_step = (rows / 2 + 1) * stride, half = rows / 2;
      const auto right = numbers(width * k), others = numbers(rows * out_stride);
      Buffer packed(packed_right_size(tiles, width, k)), sums(static_cast<size_t>(rows * width) * 4);
      pack_right(tiles, right.data(), k, width, k, packed.data());
      const auto multiplier = reals(width, -2e-3f, 2e-3f), offset = reals(width, -9, 9);
      std::vector<int32_t> corrections(static_cast<size_t>(width));
      zero_corrections(tiles, packed.data(), width, 11, nullptr, corrections.data());
      Requantize how{corrections.data(), multiplier.data(), offset.data(), -5, -128, 127};
      for (const int kind : {0, 1, 2}) {  // nothing is added, int8, uint8
        if (kind > 0) how.sum = {others.data(), 0.73f, -1.31f, 5.5f, {3, -128, 127}};
        if (kind == 2) how.sum.range = {131, 0, 255}, how.sum.flip = 0x80;
        PanelEnd panel;
        ASSERT_TRUE(tiles.prepare_bytes(tiles.vectors, how, width, &panel));
        const auto size = static_cast<size_t>(rows * out_stride);
        std::vector<uint8_t> want[3], got[3];
        TileEnd ends[3];
        int32_t* const sums_of_tile = static_cast<int32_t*>(sums.data());
        for (int t = 0; t < 3; ++t) {
          const auto left = numbers(2 * half_step);
          Buffer form(left.size() * static_cast<size_t>(tiles.left_size));
          tiles.pack_left(reinterpret_cast<const uint8_t*>(left.data()), 0, 2 * half_step, form.data());
          std::vector<int8_t> rows_of_left;
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t r = 0; r < runs; ++r) {
              const auto from = left.begin() + i / half * half_step + i % half * stride + r * run_step;
              rows_of_left.insert(rows_of_left.end(), from, from + run);
            }
          }
          std::vector<int32_t> exact_sums;
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < width; ++j) {
              exact_sums.push_back(static_cast<int32_t>(exact(rows_of_left, right, k, i, j, -tiles.left_offset)));
            }
          }
          want[t].assign(size, 77), got[t].assign(size, 77);
          tiles.requantize(how, {exact_sums.data(), width, rows, width, out_stride}, want[t].data());
          ends[t] = {&panel, nullptr, got[t].data(), out_stride, width, how.sum.others, kind == 2};
          ByteTile tile{form.data(), stride, panels_of(packed.data(), width), groups, sums_of_tile, width, false};
          tile.runs = runs, tile.run_step = run_step, tile.half_step = half_step;
          tile.ahead = right.data();
          tiles.gemm_behind(tile, ends[t], t == 0 ? nullptr : &ends[t - 1]);
        }
        tiles.finish_behind(sums_of_tile, ends[2]);
        for (int t = 0; t < 3; ++t)
          ASSERT_EQ(got[t], want[t]) << groups << " groups, " << runs << " runs, kind " << kind;
      }
    }
  }
}

TEST_P(ByteTilesTest, ProductsToBytesFloatsAndSums) {
  if (is_slow()) GTEST_SKIP() << "this processor has no vpdpbusd";
  for (const int64_t k : {1, 30, 1203, 6000}) {
    for (const int64_t m : {1, 5, 37, 98}) {
      const int64_t n = 2 * column_step(tiles) + 5;
      const auto left = numbers(m * k), right = numbers(n * k);
      std::vector<uint8_t> as_unsigned;
      for (const int8_t x : left) as_unsigned.push_back(static_cast<uint8_t>(x ^ 0x80));
      Buffer packed(packed_right_size(tiles, n, k)), scratch(product_scratch(tiles, k));
      pack_right(tiles, right.data(), k, n, k, packed.data());
      const auto multiplier = reals(n, 1e-4f, 1e-3f), offset = reals(n, -3, 3), scales = reals(m, 0.1f, 0.2f);
      std::vector<int32_t> corrections(static_cast<size_t>(n)), bias(corrections), zeros(static_cast<size_t>(m));
      for (size_t j = 0; j < bias.size(); ++j) bias[j] = static_cast<int32_t>(j * 100);
      for (size_t i = 0; i < zeros.size(); ++i) zeros[i] = static_cast<int32_t>(i) - 17;
      ByteProduct p{};
      p.m = m, p.n = n, p.k = k, p.left = as_unsigned.data(), p.left_stride = k, p.flip = 0x80;
      p.right = packed.data(), p.out_stride = n + 1;
      p.zeros = zeros.data(), p.scales = scales.data(), p.row_step = 1;
      p.multiplier = multiplier.data(), p.offset = offset.data(), p.least = -1e30f, p.most = 40.0f;
      zero_corrections(tiles, packed.data(), n, -9, bias.data(), corrections.data());
      p.requantize = {corrections.data(), multiplier.data(), offset.data(), 3, 0, 255};
      const auto size = static_cast<size_t>(m * (n + 1));
      std::vector<uint8_t> bytes(size, 77);
      std::vector<float> floats(size, 77.0f);
      std::vector<int32_t> sums(size, 77);
      const int64_t middle = column_step(tiles);
      for (const auto kind : {ByteProduct::Out::Bytes, ByteProduct::Out::Floats, ByteProduct::Out::Sums}) {
        p.out_kind = kind;
        if (kind == ByteProduct::Out::Bytes) p.out = bytes.data();
        if (kind == ByteProduct::Out::Floats) p.out = floats.data();
        if (kind == ByteProduct::Out::Sums) p.out = sums.data();
        multiply(tiles, p, 0, m / 2, 0, n, scratch.data());
        multiply(tiles, p, m / 2, m, 0, middle, scratch.data());
        multiply(tiles, p, m / 2, m, middle, n, scratch.data());
      }
      for (int64_t i = 0; i < m; ++i) {
        const auto row = static_cast<size_t>(i * (n + 1));
        EXPECT_TRUE(bytes[row + n] == 77 && floats[row + n] == 77 && sums[row + n] == 77);
        for (int64_t j = 0; j < n; ++j) {
          ASSERT_EQ(sums[row + j], exact(left, right, k, i, j, -tiles.left_offset)) << "k " << k;
          const double sum = exact(left, right, k, i, j, -9) + bias[j];
          const double x = static_cast<float>(static_cast<float>(sum) * multiplier[j]) + offset[j];
          ASSERT_NEAR(bytes[row + j], rounded(x, p.requantize), std::fabs(x - std::nearbyint(x)) > 0.499 ? 1 : 0);
          const double real = exact(left, right, k, i, j, zeros[i]) * double(scales[i]) * multiplier[j] + offset[j];
          ASSERT_NEAR(floats[row + j], std::min(real, 40.0), 1e-5 * std::fabs(real) + 1e-5);
        }
      }
    }
  }
}

TEST_P(ByteTilesTest, FinishesEveryElementOnceItIsThere) {
  const int64_t m = 37, k = 30, n = 2 * column_step(tiles) + 5;
  const auto left = numbers(m * k), right = numbers(n * k);
  Buffer packed(packed_right_size(tiles, n, k)), scratch(product_scratch(tiles, k));
  pack_right(tiles, right.data(), k, n, k, packed.data());
  const auto multiplier = reals(n, 1e-4f, 1e-3f);
  const int32_t zero = 3;
  const float scale = 2.0f;
  ByteProduct p{};
  p.m = m, p.n = n, p.k = k, p.left = reinterpret_cast<const uint8_t*>(left.data()), p.left_stride = k;
  p.right = packed.data(), p.ahead = right.data(), p.ahead_bytes = n * k;
  p.out_kind = ByteProduct::Out::Floats, p.out_stride = n;
  p.zeros = &zero, p.scales = &scale, p.multiplier = multiplier.data(), p.least = -1e30f, p.most = 1e30f;
  std::vector<float> want(static_cast<size_t>(m * n)), got(want);
  p.out = want.data();
  multiply(tiles, p, 0, m, 0, n, scratch.data());
  for (float& x : want) x += 1.0f;
  p.out = got.data();
  p.finish_context = &p;
  p.finish = [](const void* context, int64_t row, int64_t rows, int64_t column, int64_t columns) {
    const ByteProduct& product = *static_cast<const ByteProduct*>(context);
    float* const to = static_cast<float*>(product.out) + row * product.out_stride + column;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) to[i * product.out_stride + j] += 1.0f;
    }
  };
  multiply(tiles, p, 0, m / 2, 0, n, scratch.data());
  multiply(tiles, p, m / 2, m, 0, column_step(tiles), scratch.data());
  multiply(tiles, p, m / 2, m, column_step(tiles), n, scratch.data());
  EXPECT_EQ(want, got);
}

struct Reversed {
  const ByteTiles& tiles;
  const std::vector<int8_t>& left;
  int64_t m, k;
};

TEST_P(ByteTilesTest, RowsThatACallerGathers) {
  const int64_t m = 19, k = 21, n = 9;
  const auto left = numbers(m * k), right = numbers(n * k);
  Buffer packed(packed_right_size(tiles, n, k)), scratch(product_scratch(tiles, k));
  pack_right(tiles, right.data(), k, n, k, packed.data());
  const Reversed reversed{tiles, left, m, k};
  std::vector<int32_t> sums(static_cast<size_t>(m * n));
  ByteProduct p{};
  p.m = m, p.n = n, p.k = k, p.right = packed.data();
  p.context = &reversed;
  p.gather = [](const void* context, int64_t row, void* to) {
    const Reversed& r = *static_cast<const Reversed*>(context);
    r.tiles.pack_left(reinterpret_cast<const uint8_t*>(r.left.data()) + (r.m - 1 - row) * r.k, 0, r.k, to);
  };
  p.out_kind = ByteProduct::Out::Sums, p.out = sums.data(), p.out_stride = n;
  multiply(tiles, p, 0, m, 0, n, scratch.data());
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      ASSERT_EQ(sums[i * n + j], exact(left, right, k, m - 1 - i, j, -tiles.left_offset));
    }
  }
}

TEST_P(ByteTilesTest, ColumnsAsTheyLieGiveWhatPackedOnesGive) {
  if (is_slow()) GTEST_SKIP() << "this processor has no vpdpbusd";
  for (const int64_t k : {1, 17, 64, 1203, 50000}) {
    for (const int64_t m : {1, 3, 70}) {
      const int64_t n = 21, stride = k + 3;
      const auto left = numbers(m * k), right = numbers(n * stride);
      Buffer packed(packed_right_size(tiles, n, k)), scratch(product_scratch(tiles, k));
      pack_right(tiles, right.data(), stride, n, k, packed.data());
      const auto multiplier = reals(n, 1e-4f, 1e-3f), offset = reals(n, -3, 3), scales = reals(m, 0.1f, 0.2f);
      std::vector<int32_t> corrections(static_cast<size_t>(n)), bias(corrections), zeros(static_cast<size_t>(m));
      for (size_t j = 0; j < bias.size(); ++j) bias[j] = static_cast<int32_t>(j * 100);
      for (size_t i = 0; i < zeros.size(); ++i) zeros[i] = static_cast<int32_t>(i) - 17;
      zero_corrections(tiles, packed.data(), n, zeros[0], bias.data(), corrections.data());
      ByteProduct p{};
      p.m = m, p.n = n, p.k = k, p.left = reinterpret_cast<const uint8_t*>(left.data()), p.left_stride = k;
      p.zeros = zeros.data(), p.scales = scales.data(), p.row_step = 1;
      p.multiplier = multiplier.data(), p.offset = offset.data(), p.least = -1e30f, p.most = 1e30f;
      p.out_stride = n;
      for (const auto kind : {ByteProduct::Out::Bytes, ByteProduct::Out::Floats, ByteProduct::Out::Sums}) {
        const auto size = static_cast<size_t>(m * n * (kind == ByteProduct::Out::Bytes ? 1 : 4));
        std::vector<uint8_t> want(size), got(size);
        p.out_kind = kind;
        p.right = packed.data(), p.out = want.data();
        p.requantize = {corrections.data(), multiplier.data(), offset.data(), 3, 0, 255};
        multiply(tiles, p, 0, m, 0, n, scratch.data());
        p.right = nullptr, p.columns = right.data(), p.column_stride = stride, p.out = got.data();
        p.requantize.correction = bias.data();
        multiply(tiles, p, 0, m, 0, 16, scratch.data());
        multiply(tiles, p, 0, m, 16, n, scratch.data());
        ASSERT_EQ(want, got) << "m " << m << " k " << k;
      }
    }
  }
}

// A window of two axes over an image of 2 x 5 x 6 pixels.
ByteWindow window_of(const std::vector<int8_t>& image, int64_t channels, int64_t stride, int64_t dilation,
                     bool transposed) {
  ByteWindow w{};
  w.in = reinterpret_cast<const uint8_t*>(image.data());
  w.zero = -7;
  w.channels = channels;
  const int64_t size[3] = {1, 5, 6};
  for (int axis = 0; axis < 3; ++axis) {
    w.size[axis] = size[axis];
    w.kernel[axis] = axis == 0 ? 1 : 3;
    w.stride[axis] = axis == 0 ? 1 : stride;
    w.padding[axis] = axis == 0 ? 0 : 1;
    w.dilation[axis] = dilation;
    const int64_t reach = dilation * (w.kernel[axis] - 1) + 1;
    w.out_size[axis] = transposed ? (size[axis] - 1) * w.stride[axis] - 2 * w.padding[axis] + reach
                                  : (size[axis] + 2 * w.padding[axis] - reach) / w.stride[axis] + 1;
  }
  w.transposed = transposed;
  return w;
}

// What a tap of an output pixel reads.
int8_t tap_of(const ByteWindow& w, int64_t pixel, int64_t ky, int64_t kx, int64_t channel) {
  const int64_t at[] = {pixel / w.out_size[2] % w.out_size[1], pixel % w.out_size[2]}, tap[] = {ky, kx};
  int64_t source[2];
  for (int i = 0; i < 2; ++i) {
    const int64_t stride = w.stride[i + 1], padding = w.padding[i + 1], reach = tap[i] * w.dilation[i + 1];
    const int64_t reached = w.transposed ? at[i] + padding - reach : at[i] * stride - padding + reach;
    if (w.transposed && reached % stride != 0) return w.zero;
    source[i] = w.transposed ? reached / stride : reached;
    if (reached < 0 || source[i] >= w.size[i + 1]) return w.zero;
  }
  const int64_t batch = pixel / w.out_pixels();
  return static_cast<int8_t>(w.in[((batch * w.size[1] + source[0]) * w.size[2] + source[1]) * w.channels + channel]);
}

TEST_P(ByteTilesTest, PixelsOfAWindow) {
  for (const bool transposed : {false, true}) {
    for (const int64_t stride : {1, 2}) {
      for (const int64_t dilation : {1, 2}) {
        for (const int64_t inputs : {3, 6}) {
          const auto image = numbers(2 * 5 * 6 * 6);
          const ByteWindow w = window_of(image, 6, stride, dilation, transposed);
          const ByteGather gather{&tiles, &w, 6 - inputs, inputs};
          const auto size = static_cast<size_t>(w.taps() * inputs * tiles.left_size);
          for (int64_t pixel = 0; pixel < 2 * w.out_pixels(); ++pixel) {
            std::vector<int8_t> taps;
            for (int64_t t = 0; t < 9; ++t) {
              for (int64_t c = 0; c < inputs; ++c) taps.push_back(tap_of(w, pixel, t / 3, t % 3, 6 - inputs + c));
            }
            std::vector<uint8_t> want(size), got(size + 1, 99);
            tiles.pack_left(reinterpret_cast<const uint8_t*>(taps.data()), 0, 9 * inputs, want.data());
            gather_pixels(&gather, pixel, got.data());
            EXPECT_EQ(got.back(), 99);
            got.pop_back();
            ASSERT_EQ(want, got) << pixel;
          }
        }
      }
    }
  }
}

TEST_P(ByteTilesTest, RowsOfPixelsOfAWindow) {
  for (const int64_t stride : {1, 2}) {
    for (const int64_t dilation : {1, 2}) {
      for (const int64_t channels : {3, 6, 20, 64}) {
        const auto image = numbers(2 * 5 * 6 * channels);
        const ByteWindow w = window_of(image, channels, stride, dilation, false);
        const ByteGather gather{&tiles, &w, 0, channels};
        ASSERT_TRUE(has_lines(w));
        const int64_t size = w.taps() * channels * tiles.left_size, row = (size + 63) / 64 * 64;
        const int64_t pixels = 2 * w.out_pixels() - 3;
        Buffer scratch(lines_size(tiles, w, channels)), got(static_cast<size_t>(pixels * row));
        ByteLines lines{&tiles, &w, 0, channels, scratch.data()};
        // From the middle of a line, in two parts.
        gather_rows_from_lines(&lines, 2, pixels / 2, row, got.data());
        gather_rows_from_lines(&lines, 2 + pixels / 2, pixels - pixels / 2, row,
                               static_cast<uint8_t*>(got.data()) + pixels / 2 * row);
        std::vector<uint8_t> want(static_cast<size_t>(size));
        for (int64_t i = 0; i < pixels; ++i) {
          gather_pixels(&gather, 2 + i, want.data());
          const uint8_t* const from = static_cast<const uint8_t*>(got.data()) + i * row;
          ASSERT_TRUE(std::equal(want.begin(), want.end(), from)) << channels << " channels, row " << i;
        }
      }
    }
  }
}

TEST_P(ByteTilesTest, WindowsOverAnImageGiveWhatGatheredOnesGive) {
  if (!tiles.gemm_results) GTEST_SKIP() << "windows are gathered";
  const int64_t height = 5, n = column_step(tiles) + tiles.lanes + 5;
  for (const int64_t width : {5, 7, 11, 14, 20, 28}) {
    for (const int64_t stride : {1, 2}) {
      for (const int64_t inputs : {4, 20}) {
        const int64_t size[] = {(height - 1) * stride + 1, (width - 1) * stride + 1}, channels = inputs + 3;
        const int64_t k = 9 * inputs, m = height * width, zero = -7;
        const auto image = numbers(size[0] * size[1] * channels), right = numbers(n * k), others = numbers(m * n);
        ByteWindow w{};
        w.in = reinterpret_cast<const uint8_t*>(image.data());
        w.zero = zero, w.channels = channels;
        for (int i = 0; i < 3; ++i) {
          w.size[i] = i == 0 ? 1 : size[i - 1], w.out_size[i] = i == 0 ? 1 : i == 1 ? height : width;
          w.kernel[i] = i == 0 ? 1 : 3, w.padding[i] = i == 0 ? 0 : 1;
          w.stride[i] = i == 0 ? 1 : stride, w.dilation[i] = 1;
        }
        ASSERT_TRUE(has_windows(tiles, w, inputs, n)) << width;
        const ByteGather gather{&tiles, &w, 3, inputs};
        Buffer packed(packed_right_size(tiles, n, k)), scratch(product_scratch(tiles, k));
        pack_right(tiles, right.data(), k, n, k, packed.data());
        std::vector<int32_t> corrections(static_cast<size_t>(n));
        zero_corrections(tiles, packed.data(), n, zero, nullptr, corrections.data());
        const auto multiplier = reals(n, 5e-4f, 2e-3f);
        ByteProduct p{};
        p.m = m, p.n = n;
        set_left(&p, gather);
        p.right = packed.data();
        p.out_kind = ByteProduct::Out::Bytes;
        p.out_stride = n;
        for (const bool adds : {false, true}) {
          p.requantize = {corrections.data(), multiplier.data(), nullptr, 5, -128, 127};
          if (adds) p.requantize.sum = {others.data(), 0.7f, 0.9f, -2.5f, {3, -128, 127}};
          std::vector<uint8_t> want(static_cast<size_t>(m * n)), got(want);
          p.windows = nullptr;
          p.out = want.data();
          multiply(tiles, p, 0, m, 0, n, scratch.data());
          p.out = got.data();
          for (const int64_t begin : {int64_t{0}, m / 3}) {
            const int64_t end = begin == 0 ? m / 3 : m;
            std::vector<uint8_t> lines(windows_size(w, inputs));
            const ByteWindows windows = read_windows(gather, begin, end, lines.data());
            p.windows = &windows;
            multiply(tiles, p, begin, end, 0, n, scratch.data());
          }
          ASSERT_EQ(want, got) << width << " wide, stride " << stride << ", inputs " << inputs;
        }
      }
    }
  }
}

TEST_P(ByteTilesTest, PixelsReadWhereTheyLieGiveWhatGatheredOnesGive) {
  if (!tiles.gemm_results) GTEST_SKIP() << "pixels are gathered";
  const int64_t height = 5, n = column_step(tiles) + tiles.lanes + 5;
  for (const int64_t width : {5, 7, 14, 28}) {
    for (const int64_t inputs : {4, 120}) {
      // The last line and column may be ones that no window reads.
      const int64_t size[] = {1, 2 * height, 2 * width - 1}, channels = inputs + 3, m = height * width, zero = -7;
      const auto image = numbers(size[1] * size[2] * channels), right = numbers(n * inputs);
      ByteWindow w{};
      w.in = reinterpret_cast<const uint8_t*>(image.data());
      w.flip = static_cast<uint8_t>(tiles.left_offset), w.zero = zero, w.channels = channels;
      for (int i = 0; i < 3; ++i) {
        w.size[i] = size[i], w.out_size[i] = i == 0 ? 1 : i == 1 ? height : width;
        w.kernel[i] = 1, w.stride[i] = i == 0 ? 1 : 2, w.dilation[i] = 1;
      }
      const ByteGather gather{&tiles, &w, 3, inputs};
      Buffer packed(packed_right_size(tiles, n, inputs)), scratch(product_scratch(tiles, inputs));
      pack_right(tiles, right.data(), inputs, n, inputs, packed.data());
      std::vector<int32_t> corrections(static_cast<size_t>(n));
      zero_corrections(tiles, packed.data(), n, zero, nullptr, corrections.data());
      const auto multiplier = reals(n, 5e-4f, 2e-3f);
      ByteProduct p{};
      p.m = m, p.n = n, p.right = packed.data(), p.out_kind = ByteProduct::Out::Bytes, p.out_stride = n;
      p.requantize = {corrections.data(), multiplier.data(), nullptr, 5, -128, 127};
      set_left(&p, gather);
      std::vector<uint8_t> want(static_cast<size_t>(m * n)), got(want);
      p.out = want.data();
      multiply(tiles, p, 0, m, 0, n, scratch.data());
      ASSERT_TRUE(has_pixels(tiles, w, inputs, n)) << width;
      const ByteWindows windows = windows_of_pixels(gather);
      p.windows = &windows, p.out = got.data();
      multiply(tiles, p, 0, m / 3, 0, n, scratch.data());
      multiply(tiles, p, m / 3, m, 0, n, scratch.data());
      ASSERT_EQ(want, got) << width << " wide, inputs " << inputs;
      w.padding[2] = 1;
      EXPECT_FALSE(has_pixels(tiles, w, inputs, n));
    }
  }
}

TEST_P(ByteTilesTest, ChannelsWithFiltersOfTheirOwn) {
  for (const int64_t channels : {1, 7, 37, 130}) {
    for (const int64_t stride : {1, 2}) {
      const auto image = numbers(2 * 5 * 6 * channels), filters = numbers(9 * channels);
      const ByteWindow w = window_of(image, channels, stride, 1, false);
      std::vector<int16_t> weights(static_cast<size_t>(packed_filters_size(channels, 9)));
      pack_filters(filters.data(), 1, channels, channels, 9, weights.data());
      std::vector<int32_t> bias(static_cast<size_t>(channels), 50), corrections(bias);
      filter_corrections(weights.data(), channels, 9, w.zero, bias.data(), corrections.data());
      const auto multiplier = reals(channels, 1e-3f, 2e-3f);
      const int64_t pixels = 2 * w.out_pixels();
      std::vector<uint8_t> out(static_cast<size_t>(pixels * channels) + 1, 77);
      const Requantize how{corrections.data(), multiplier.data(), nullptr, 5, -128, 127};
      Buffer scratch(depthwise_scratch(w));
      const ByteDepthwise d{&w, weights.data(), how, out.data()};
      convolve_depthwise(tiles, d, 0, 11, scratch.data());
      convolve_depthwise(tiles, d, 11, pixels, scratch.data());
      EXPECT_EQ(out.back(), 77);
      for (int64_t pixel = 0; pixel < pixels; ++pixel) {
        for (int64_t c = 0; c < channels; ++c) {
          int32_t sum = 50;
          for (int64_t t = 0; t < 9; ++t) {
            sum += (tap_of(w, pixel, t / 3, t % 3, c) - w.zero) * filters[static_cast<size_t>(t * channels + c)];
          }
          const float x = static_cast<float>(sum) * multiplier[static_cast<size_t>(c)];
          const auto got = static_cast<int8_t>(out[static_cast<size_t>(pixel * channels + c)]);
          ASSERT_NEAR(got, rounded(x, how), std::fabs(x - std::nearbyint(x)) > 0.499 ? 1 : 0);
        }
      }
    }
  }
}

TEST_P(ByteTilesTest, NumbersOfFourBits) {
  for (const int64_t group : {32, 96}) {
    const int64_t rows = 6, columns = 3, groups = 2, k = groups * group;
    const auto left = numbers(rows * k), bytes = numbers(columns * k / 2);
    const auto* const right = reinterpret_cast<const uint8_t*>(bytes.data());
    const auto scales = reals(columns * groups, 0.5f, 1.5f);
    std::vector<uint8_t> packed(static_cast<size_t>(rows * k));
    for (int64_t i = 0; i < rows; ++i) tiles.pack_nibble_left(left.data() + i * k, k, packed.data() + i * k);
    std::vector<float> sums(static_cast<size_t>(rows * columns)), weights(static_cast<size_t>(k));
    tiles.nibble_dots(rows, columns,
                      {packed.data(), k, right, k / 2, scales.data(), groups, groups, group, sums.data(), columns});
    for (int64_t j = 0; j < columns; ++j) {
      tiles.dequantize_nibbles(right + j * k / 2, k, 1.0f, 2.0f, weights.data());
      for (int64_t i = 0; i < rows; ++i) {
        double want = 0;
        for (int64_t l = 0; l < k; ++l) {
          const uint8_t byte = right[(j * k + l) / 2];
          const int number = (l % 2 == 0 ? byte >> 4 : byte & 15) - 8;
          ASSERT_EQ(weights[static_cast<size_t>(l)], static_cast<float>(number - 1) * 2);
          want += (left[static_cast<size_t>(i * k + l)] + tiles.nibble_offset) * number *
                  double(scales[static_cast<size_t>(j * groups + l / group)]);
        }
        ASSERT_NEAR(sums[static_cast<size_t>(i * columns + j)], want, 1e-5 * std::fabs(want) + 0.02);
      }
    }
  }
}

TEST_P(ByteTilesTest, ElementsToBytesAndBack) {
  for (const int64_t n : {1, 8, 61, 1000}) {
    auto x = reals(n, -400, 400);
    for (size_t i = 0; i < x.size(); i += 3) x[i] = std::nearbyint(x[i]) + 0.5f;
    float least = 0, most = 0;
    EXPECT_TRUE(tiles.extremes(x.data(), n, &least, &most));
    EXPECT_EQ(least, std::min(0.0f, *std::min_element(x.begin(), x.end())));
    EXPECT_EQ(most, std::max(0.0f, *std::max_element(x.begin(), x.end())));
    x.back() = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(tiles.extremes(x.data(), n, &least, &most));
    for (const ByteRange& range : {ByteRange{3, -128, 127}, ByteRange{120, 2, 255}}) {
      std::vector<uint8_t> bytes(x.size() + 1, 77);
      tiles.quantize_bytes(x.data(), n, range, 0.5f, bytes.data());
      EXPECT_EQ(bytes.back(), 77);
      for (size_t i = 0; i + 1 < x.size(); ++i) {
        const double want = std::clamp<double>(std::nearbyint(x[i] * 0.5f) + range.zero, range.least, range.most);
        ASSERT_EQ(bytes[i], static_cast<uint8_t>(static_cast<int>(want))) << x[i];
      }
      EXPECT_EQ(bytes[x.size() - 1], 0);
      std::vector<float> back(x.size());
      tiles.dequantize_bytes(bytes.data(), 0x80, n, 5.0f, 0.25f, back.data());
      for (size_t i = 0; i < back.size(); ++i) {
        ASSERT_EQ(back[i], static_cast<float>(int{bytes[i]} - 128 - 5) * 0.25f);
      }
    }
  }
}

TEST_P(ByteTilesTest, SumsAndProductsOfQuantizedNumbers) {
  const int64_t n = 700;
  const auto a = numbers(n), b = numbers(n);
  const auto* const x = reinterpret_cast<const uint8_t*>(a.data());
  const auto* const y = reinterpret_cast<const uint8_t*>(b.data());
  for (const bool multiply : {false, true}) {
    for (const int steps : {1, 2, 3}) {
      const ByteOperand left{x, steps & 1, 0, 4, 0.5f}, right{y, steps >> 1, 0x80, -3, 0.25f};
      std::vector<uint8_t> out(a.begin(), a.end());
      ByteOperand in_place = left;
      if (left.step == 1) in_place.data = out.data();
      tiles.combine_bytes(multiply, in_place, right, {-2, -128, 120}, 0.125f, n, out.data());
      for (int64_t i = 0; i < n; ++i) {
        const float real_a = static_cast<float>(a[static_cast<size_t>(i * left.step)] - 4) * 0.5f;
        const auto flipped = static_cast<int8_t>(y[i * right.step] ^ 0x80);
        const float real_b = static_cast<float>(flipped + 3) * 0.25f;
        const float real = (multiply ? real_a * real_b : real_a + real_b) * 0.125f;
        const double want = std::clamp<double>(std::nearbyint(real) - 2, -128, 120);
        ASSERT_EQ(static_cast<int8_t>(out[static_cast<size_t>(i)]), want) << multiply << steps;
      }
    }
  }
}

}  // namespace
}  // namespace rushlight::tiles
