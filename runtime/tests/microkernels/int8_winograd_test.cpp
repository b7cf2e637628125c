#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "microkernels/gemm/int8.h"
#include "microkernels/winograd/int8.h"

namespace rushlight::microkernels {

namespace {

std::vector<const Int8Microkernels*> sets_with_shorts() {
  std::vector<const Int8Microkernels*> sets;
  for (const char* name : {"generic", "rvv", "rvv256", "avx2", "avxvnni", "avx512", "avx512vnni"}) {
    const Int8Microkernels* set = int8_microkernels_named(name);
    if (set && int8_winograd_microkernels(*set)) sets.push_back(set);
  }
  return sets;
}

template <typename T>
T* aligned(std::vector<T>& storage, size_t count) {
  storage.resize(count + 64 / sizeof(T));
  return reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(storage.data()) + 63) / 64 * 64);
}

class Int8WinogradTest : public testing::TestWithParam<std::tuple<const Int8Microkernels*, int>> {};

// One tile of numbers with extremes. All products of transforms, and their sums, are exact or wrap around consistently.
TEST_P(Int8WinogradTest, TilesGiveTheSumsOfTheConvolution) {
  const auto [set, m] = GetParam();
  const Int8Microkernels& kernels = *set;
  const int side = m + 2, points = side * side;
  const int64_t channels = 4 * kernels.lanes, outputs = column_step(kernels) + kernels.lanes - 1;
  const int64_t depth = 9 * channels, width = (outputs + kernels.lanes - 1) / kernels.lanes * kernels.lanes;
  std::mt19937 random{static_cast<unsigned>(m)};
  std::uniform_int_distribution<int> uniform(-200, 200);
  const auto number = [&] { return static_cast<int8_t>(std::clamp(uniform(random), -128, 127)); };
  std::vector<int8_t> weights(static_cast<size_t>(outputs * depth)), image(static_cast<size_t>(points * channels));
  std::generate(weights.begin(), weights.end(), number);
  std::generate(image.begin(), image.end(), number);

  std::vector<uint8_t> packed_storage;
  uint8_t* const packed = aligned(packed_storage, packed_rhs_size(kernels, outputs, depth));
  pack_rhs(kernels, weights.data(), depth, outputs, depth, packed);
  int64_t magnitude = 0;
  for (int64_t o = 0; o < outputs; ++o) {
    int64_t sum = 0;
    for (int64_t k = 0; k < depth; ++k) sum += std::abs(weights[static_cast<size_t>(o * depth + k)]);
    magnitude = std::max(magnitude, sum);
  }
  EXPECT_EQ(largest_magnitude(kernels, packed, outputs, channels), magnitude);
  ASSERT_LE(magnitude, max_winograd_magnitude(m));

  std::vector<int16_t> filter_storage, input_storage;
  std::vector<int32_t> product_storage, sum_storage;
  int16_t* const filters =
      aligned(filter_storage, static_cast<size_t>(winograd_filter_size(kernels.lanes, m, outputs, channels)));
  int16_t* const input = aligned(input_storage, static_cast<size_t>(points * channels));
  int32_t* const products = aligned(product_storage, static_cast<size_t>(points * width));
  int32_t* const sums = aligned(sum_storage, static_cast<size_t>(m * m * width));
  const int64_t block = column_step(kernels);
  pack_winograd_filters(kernels, m, packed, outputs, channels, block, filters);
  std::vector<const int8_t*> pixels;
  for (int i = 0; i < points; ++i) pixels.push_back(image.data() + i * channels);
  const uint8_t sign_mask = m == 2 ? 0x80 : 0;  // numbers are stored plus 128, or unchanged
  for (int8_t& number : image) number = static_cast<int8_t>(number ^ sign_mask);
  int8_winograd_microkernels(kernels)->input(m, pixels.data(), sign_mask, channels, input, channels);
  for (int8_t& number : image) number = static_cast<int8_t>(number ^ sign_mask);
  for (int64_t point = 0; point < points; ++point) {
    for (int64_t column = 0; column < width; column += column_step(kernels)) {
      const int vectors = static_cast<int>(std::min(column_step(kernels), width - column) / kernels.lanes);
      int8_winograd_microkernels(kernels)->gemm(
          1, vectors,
          {input + point * channels, channels, filters + (column * points + point * vectors * kernels.lanes) * channels,
           channels / 2, products + point * width + column, width, false});
    }
  }
  int8_winograd_microkernels(kernels)->output(m, products, width, width, sums, m * width, width);

  for (int y = 0; y < m; ++y) {
    for (int x = 0; x < m; ++x) {
      for (int64_t o = 0; o < outputs; ++o) {
        int32_t expected = 0;
        for (int64_t k = 0; k < depth; ++k) {
          const int64_t tap = k / channels, pixel = (y + tap / 3) * side + x + tap % 3;
          expected +=
              weights[static_cast<size_t>(o * depth + k)] * image[static_cast<size_t>(pixel * channels + k % channels)];
        }
        ASSERT_EQ(sums[(y * m + x) * width + o], expected) << y << ' ' << x << ' ' << o;
      }
    }
  }
}

TEST_P(Int8WinogradTest, RowsOfATileAreIndependent) {
  const auto [set, m] = GetParam();
  const Int8Microkernels& kernels = *set;
  const int64_t depth = 2 * kernels.lanes * m, width = column_step(kernels);
  std::mt19937 random{7};
  std::uniform_int_distribution<int> uniform(-12800, 12800);
  std::vector<int16_t> lhs_storage, rhs_storage;
  std::vector<int32_t> one_storage, all_storage;
  int16_t* const lhs = aligned(lhs_storage, static_cast<size_t>(kernels.rows * depth));
  int16_t* const rhs = aligned(rhs_storage, static_cast<size_t>(width * depth));
  for (int64_t i = 0; i < kernels.rows * depth; ++i) lhs[i] = static_cast<int16_t>(uniform(random));
  for (int64_t i = 0; i < width * depth; ++i) rhs[i] = static_cast<int16_t>(uniform(random) / 2);
  int32_t* const one = aligned(one_storage, static_cast<size_t>(width));
  int32_t* const all = aligned(all_storage, static_cast<size_t>(kernels.rows * width));
  int8_winograd_microkernels(kernels)->gemm(kernels.rows, kernels.vectors,
                                            {lhs, depth, rhs, depth / 2, all, width, false});
  for (int i = 0; i < kernels.rows; ++i) {
    int8_winograd_microkernels(kernels)->gemm(1, kernels.vectors,
                                              {lhs + i * depth, depth, rhs, depth / 2, one, width, false});
    EXPECT_TRUE(std::equal(one, one + width, all + i * width)) << i;
  }
}

TEST(Int8Winograd, IsChosenWhereItTakesLess) {
  for (const Int8Microkernels* kernels : sets_with_shorts()) {
    EXPECT_EQ(best_winograd(*kernels, {64, 64, 1, 56, 56}), 4) << kernels->name;
    EXPECT_EQ(best_winograd(*kernels, {512, 512, 1, 3, 3}), 0) << kernels->name;  // reading the weights takes longest
    EXPECT_EQ(best_winograd(*kernels, {65, 64, 1, 56, 56}), 0) << kernels->name;
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, Int8WinogradTest,
                         testing::Combine(testing::ValuesIn(sets_with_shorts()), testing::Values(2, 4)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)->name) + "_" +
                                  std::to_string(std::get<1>(test.param));
                         });

}  // namespace

}  // namespace rushlight::microkernels
