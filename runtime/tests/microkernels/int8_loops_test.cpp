#include "microkernels/tables/int8_loops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "microkernels/tables/int8.h"
#include "tests/microkernels/dot_products.h"

namespace rushlight::microkernels {
namespace {

std::vector<const Int8Microkernels*> all_sets() {
  std::vector<const Int8Microkernels*> sets = assisted_sets();
  for (const char* name :
       {"generic", "neon", "neon_dotprod", "neon_i8mm", "rvv", "rvv256", "avx2", "avxvnni", "avx512", "avx512vnni"}) {
    if (const Int8Microkernels* set = int8_microkernels_named(name)) sets.push_back(set);
  }
  return sets;
}

int8_t rounded(float x, const Int8Range& range) {
  const int number = static_cast<int>(std::nearbyint(std::clamp(x, -1e6f, 1e6f))) + range.zero;
  return static_cast<int8_t>(std::clamp(number, range.least, range.most));
}

class Int8LoopsTest : public testing::TestWithParam<const Int8Microkernels*> {
 protected:
  const Int8Loops& loops = GetParam()->loops;
  std::mt19937 random{7};

  std::vector<int8_t> numbers(int64_t n) {
    std::uniform_int_distribution<int> uniform(-128, 127);
    std::vector<int8_t> values(static_cast<size_t>(n));
    for (int8_t& value : values) value = static_cast<int8_t>(uniform(random));
    return values;
  }
  std::vector<float> reals(int64_t n) {
    std::uniform_real_distribution<float> uniform(-9, 9);
    std::vector<float> values(static_cast<size_t>(n));
    for (float& value : values) value = uniform(random);
    return values;
  }
};

INSTANTIATE_TEST_SUITE_P(Sets, Int8LoopsTest, testing::ValuesIn(all_sets()),
                         [](const testing::TestParamInfo<const Int8Microkernels*>& set) {
                           return std::string(set.param->name);
                         });

constexpr int64_t kCounts[] = {1, 7, 8, 16, 33, 100};

TEST_P(Int8LoopsTest, QuantizeAndExpand) {
  for (const int64_t n : kCounts) {
    const auto from = reals(n);
    const Int8Range range{-3, -100, 90};
    std::vector<int8_t> to(static_cast<size_t>(n));
    loops.quantize(from.data(), n, 16.0f, range, to.data());
    std::vector<float> back(static_cast<size_t>(n));
    loops.expand(to.data(), n, range.zero, 0.0625f, back.data());
    for (size_t i = 0; i < to.size(); ++i) {
      EXPECT_EQ(to[i], rounded(from[i] * 16.0f, range)) << i;
      EXPECT_EQ(back[i], static_cast<float>(to[i] + 3) * 0.0625f) << i;
    }
  }
}

TEST_P(Int8LoopsTest, RangeOfReals) {
  for (const int64_t n : kCounts) {
    const auto from = reals(n);
    float least = -0.5f, most = 0.5f;
    loops.widen_range(from.data(), n, &least, &most);
    EXPECT_EQ(least, std::min(-0.5f, *std::min_element(from.begin(), from.end())));
    EXPECT_EQ(most, std::max(0.5f, *std::max_element(from.begin(), from.end())));
  }
}

TEST_P(Int8LoopsTest, SumsAndProducts) {
  for (const int64_t n : kCounts) {
    const auto a = numbers(n), b = numbers(n);
    const Int8Range range{5, -128, 120};
    std::vector<int8_t> sums(static_cast<size_t>(n)), products(static_cast<size_t>(n));
    loops.add(a.data(), b.data(), n, 0.5f, -0.25f, 2.0f, range, sums.data());
    loops.multiply(a.data(), b.data(), n, -7, 3, 0.0078125f, range, products.data());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(sums[i], rounded(static_cast<float>(a[i]) * 0.5f - static_cast<float>(b[i]) * 0.25f + 2.0f, range));
      EXPECT_EQ(products[i], rounded(static_cast<float>((a[i] + 7) * (b[i] - 3)) * 0.0078125f, range));
    }
  }
}

TEST_P(Int8LoopsTest, MaximumAndSumsOfRows) {
  for (const int64_t n : kCounts) {
    const auto from = numbers(3 * n);
    const int8_t* rows[] = {from.data(), from.data() + n, from.data() + 2 * n};
    std::vector<int8_t> most(static_cast<size_t>(n));
    loops.maximum(rows, 3, n, -20, 100, most.data());
    std::vector<int32_t> sums(static_cast<size_t>(n), 4);
    loops.add_rows(from.data(), 3, n, n, sums.data());
    for (size_t i = 0; i < most.size(); ++i) {
      EXPECT_EQ(most[i], std::clamp<int>(std::max({rows[0][i], rows[1][i], rows[2][i]}), -20, 100));
      EXPECT_EQ(sums[i], 4 + rows[0][i] + rows[1][i] + rows[2][i]);
    }
  }
}

TEST_P(Int8LoopsTest, TablesOf256Entries) {
  const auto entries = numbers(256);
  std::vector<uint8_t> from;
  for (int i = 0; i < 700; ++i) from.push_back(static_cast<uint8_t>(i * 37));
  for (const int64_t n : {0, 1, 15, 16, 31, 63, 64, 65, 700}) {
    std::vector<int8_t> to(static_cast<size_t>(n) + 1, 11);
    loops.look_up(from.data(), entries.data(), n, to.data());
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) ASSERT_EQ(to[i], entries[from[i]]) << i;
    EXPECT_EQ(to.back(), 11);
  }
}

TEST_P(Int8LoopsTest, ScaledChannels) {
  const Int8Range range{-5, -128, 100};
  for (const int64_t channels : {1, 3, 8, 16, 19, 40, 200}) {
    const int64_t pixels = channels == 200 ? 300 : 7;
    const auto from = numbers(pixels * channels), weights = numbers(channels);
    const auto multipliers = reals(channels), offsets = reals(channels);
    std::vector<float> factors(weights.begin(), weights.end());
    std::vector<int32_t> corrections;
    for (const int8_t weight : weights) corrections.push_back(-3 * weight);
    for (const bool has_offsets : {false, true}) {
      std::vector<int8_t> to(from.size());
      loops.scale_channels({from.data(), pixels, channels, factors.data(), corrections.data(), multipliers.data(),
                            has_offsets ? offsets.data() : nullptr},
                           range, to.data());
      for (size_t i = 0; i < to.size(); ++i) {
        const size_t c = i % static_cast<size_t>(channels);
        const auto sum = static_cast<float>(from[i] * weights[c] + corrections[c]);
        const double exact = double{sum} * multipliers[c] + (has_offsets ? offsets[c] : 0.0f);
        // Sets may round the product before the offset is added to it.
        if (std::fabs(exact - std::floor(exact) - 0.5) < 0.001) continue;
        ASSERT_EQ(to[i], rounded(static_cast<float>(exact), range)) << i;
      }
    }
  }
}

TEST_P(Int8LoopsTest, InterleaveThree) {
  for (const int64_t n : kCounts) {
    const int64_t stride = n + 5;
    const auto rows = numbers(3 * stride);
    std::vector<int8_t> to(static_cast<size_t>(3 * n) + 1, 77);
    loops.interleave_3(rows.data(), stride, n, to.data());
    for (int64_t i = 0; i < 3 * n; ++i) {
      EXPECT_EQ(to[static_cast<size_t>(i)], rows[static_cast<size_t>(i % 3 * stride + i / 3)]) << i;
    }
    EXPECT_EQ(to.back(), 77);
  }
}

TEST_P(Int8LoopsTest, DepthwiseWindows) {
  constexpr int64_t kLine = 15, kMaxOutputs = 7, kMaxHeight = 5, kMaxWidth = 5;
  for (const auto [height, width, stride, count] : {std::array<int64_t, 4>{3, 3, 1, 4},
                                                    {3, 3, 2, 7},
                                                    {5, 5, 2, 6},
                                                    {5, 5, 1, 4},
                                                    {5, 5, 1, 1},
                                                    {2, 3, 1, 7},
                                                    {1, 4, 2, 5},
                                                    {3, 2, 1, 3},
                                                    {4, 1, 1, 7}}) {
    const int64_t taps = height * width;
    const auto pixels = numbers(kLine * kMaxHeight * 16), weights = numbers(taps * 16);
    std::vector<const int8_t*> sources;
    for (int64_t i = 0; i < kLine * kMaxHeight; ++i) sources.push_back(pixels.data() + i * 16);
    alignas(64) int16_t packed[kMaxHeight * kMaxWidth * 32];
    loops.pack_depthwise_window(weights.data(), 16, height, width, 16, packed);
    alignas(64) int16_t pairs[kLine * kMaxHeight * 32];
    ASSERT_LE(window_pairs_size(height, width, stride, count), kLine * kMaxHeight * 32);
    int32_t sums[kMaxOutputs * 16];
    loops.depthwise_window({sources.data(), kLine, height, width, stride, 0, packed, count, pairs, sums});
    for (int64_t x = 0; x < count; ++x) {
      for (int64_t c = 0; c < 16; ++c) {
        int32_t expected = 0;
        for (int64_t tap = 0; tap < taps; ++tap) {
          const int64_t pixel = tap / width * kLine + x * stride + tap % width;
          expected += pixels[static_cast<size_t>(pixel * 16 + c)] * weights[static_cast<size_t>(tap * 16 + c)];
        }
        EXPECT_EQ(sums[x * 16 + c], expected) << height << " x " << width << ", channel " << c;
      }
    }
  }
}

TEST_P(Int8LoopsTest, DepthwiseBlocks) {
  constexpr int64_t kColumns = 9, kOutputs = 3, kStride = 2;
  for (const int64_t taps : {1, 2, 5}) {
    for (const int64_t channels : {3, 16}) {
      const auto pixels = numbers(kColumns * 16), weights = numbers(taps * 16);
      std::vector<const int8_t*> sources;
      for (int64_t i = 0; i < kColumns; ++i) sources.push_back(pixels.data() + i * 16);
      std::vector<int64_t> offsets;
      for (int64_t tap = 0; tap < taps; ++tap) offsets.push_back(tap);
      alignas(64) int16_t packed[3 * 32];
      loops.pack_depthwise(weights.data(), 16, taps, channels, packed);
      int32_t sums[kOutputs * 16];
      loops.depthwise({sources.data(), offsets.data(), taps, kStride, 0, packed, 0, kOutputs, sums});
      for (int64_t x = 0; x < kOutputs; ++x) {
        for (int64_t c = 0; c < channels; ++c) {
          int32_t expected = 0;
          for (int64_t tap = 0; tap < taps; ++tap) {
            expected +=
                pixels[static_cast<size_t>((x * kStride + tap) * 16 + c)] * weights[static_cast<size_t>(tap * 16 + c)];
          }
          EXPECT_EQ(sums[x * 16 + c], expected) << taps << " taps, channel " << c;
        }
      }
    }
  }
}

TEST_P(Int8LoopsTest, Depthwise3x3) {
  if (!loops.depthwise_3x3) GTEST_SKIP() << "windows give sums alone";
  constexpr int64_t kLine = 15, kSkipped = 3;
  for (const auto [channels, stride, rows, count] : {std::array<int64_t, 4>{64, 1, 1, 7},
                                                     {64, 1, 2, 7},
                                                     {64, 2, 1, 7},
                                                     {40, 1, 2, 3},
                                                     {40, 2, 1, 1},
                                                     {32, 1, 1, 7},
                                                     {32, 1, 2, 4},
                                                     {32, 2, 1, 7},
                                                     {24, 1, 2, 1},
                                                     {16, 1, 2, 7},
                                                     {16, 2, 1, 6},
                                                     {5, 1, 1, 3}}) {
    const int64_t all = channels + kSkipped, out_stride = all + 2, row_stride = out_stride * count + 1;
    const auto pixels = numbers(kLine * 4 * all + 15), weights = numbers(9 * all);
    std::vector<const int8_t*> sources;
    for (int64_t i = 0; i < kLine * (rows + 2); ++i) sources.push_back(pixels.data() + i * all);
    const auto offset = reals(channels);
    std::vector<float> small(offset), large(offset);
    for (float& x : small) x *= 1e-3f;
    for (float& x : large) x *= 1e6f;
    const int32_t zero = -11;
    std::vector<int32_t> sums, biases;
    for (int64_t c = 0; c < channels; ++c) biases.push_back(static_cast<int32_t>(c * 10007 - 200000));
    for (int64_t at = 0; at < rows * count * channels; ++at) {
      const int64_t c = at % channels + kSkipped, x = at / channels % count, row = at / channels / count;
      int32_t sum = 0;
      for (int64_t tap = 0; tap < 9; ++tap) {
        const int64_t pixel = (row + tap / 3) * kLine + x * stride + tap % 3;
        sum += (pixels[static_cast<size_t>(pixel * all + c)] - zero) * weights[static_cast<size_t>(tap * all + c)];
      }
      sums.push_back(sum);
    }
    for (const bool is_large : {false, true}) {
      for (const Int8Range& range : {Int8Range{-5, -128, 127}, Int8Range{3, 3, 90}}) {
        const std::vector<float>& multiplier = is_large ? large : small;
        const float* const offsets = is_large ? nullptr : offset.data();
        const int32_t* const bias = range.zero == 3 ? biases.data() : nullptr;
        std::vector<uint8_t> block(kDepthwise3x3Bytes + 64);
        void* const packed = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(block.data()) + 63) / 64 * 64);
        loops.pack_depthwise_3x3(
            {weights.data() + kSkipped, all, channels, zero, bias, multiplier.data(), offsets, &range}, packed);
        std::vector<uint8_t> want(static_cast<size_t>(rows * row_stride), 77), got(want);
        const Requantize how{bias, multiplier.data(), offsets, range.zero, range.least, range.most};
        for (int64_t row = 0; row < rows; ++row) {
          GetParam()->requantize(how, {sums.data() + row * count * channels, channels, count, channels, out_stride},
                                 want.data() + row * row_stride);
        }
        loops.depthwise_3x3({sources.data(), kLine, stride, kSkipped, channels, packed, count, rows,
                             reinterpret_cast<int8_t*>(got.data()), out_stride, row_stride});
        ASSERT_EQ(got, want) << channels << " channels, stride " << stride << ", " << rows << " x " << count;
      }
    }
  }
}

TEST_P(Int8LoopsTest, DepthwiseQuads) {
  if (!loops.depthwise_quads) GTEST_SKIP() << "windows give sums alone";
  constexpr int64_t kMaxOutputs = 7, kSkipped = 3;
  for (const auto [height, width] :
       {std::array<int64_t, 2>{1, 5}, {1, 7}, {2, 3}, {4, 4}, {5, 5}, {5, 3}, {6, 2}, {7, 7}}) {
    for (const auto [channels, stride, count] :
         {std::array<int64_t, 3>{64, 1, 7}, {64, 2, 4}, {40, 1, 1}, {17, 2, 6}, {1, 1, 5}}) {
      const DepthwiseQuads quads{height, width};
      const int64_t line = quads.columns(kMaxOutputs, 2), all = channels + kSkipped, out_stride = all + 2;
      const auto pixels = numbers(line * height * all), weights = numbers(height * width * all);
      std::vector<const int8_t*> sources;
      for (int64_t i = 0; i < line * height; ++i) sources.push_back(pixels.data() + i * all);
      const auto offsets = reals(channels), factors = reals(channels);
      for (const float size : {1e-4f, 1e6f}) {
        std::vector<float> multipliers(factors);
        for (float& x : multipliers) x *= size;
        const Int8Range range{-5, -128, 100};
        const int32_t zero = -11;
        std::vector<uint8_t> block(static_cast<size_t>(quads.block_bytes()) + 64), scratch(block);
        scratch.resize(static_cast<size_t>(quads.bytes(count, stride)) + 64);
        const auto aligned = [](std::vector<uint8_t>& bytes) {
          return bytes.data() + (64 - reinterpret_cast<uintptr_t>(bytes.data()) % 64) % 64;
        };
        loops.pack_depthwise_quads(
            {weights.data() + kSkipped, all, channels, zero, nullptr, multipliers.data(), offsets.data(), &range},
            height, width, aligned(block));
        std::vector<int8_t> got(static_cast<size_t>(count * out_stride), 99);
        loops.depthwise_quads({sources.data(), line, height, width, stride, kSkipped, channels, aligned(block), count,
                               aligned(scratch), got.data(), out_stride});
        for (int64_t x = 0; x < count; ++x) {
          for (int64_t c = 0; c < out_stride; ++c) {
            const int8_t result = got[static_cast<size_t>(x * out_stride + c)];
            if (c >= channels) {
              ASSERT_EQ(result, 99);
              continue;
            }
            int64_t sum = 0;
            for (int64_t tap = 0; tap < height * width; ++tap) {
              const int64_t pixel = tap / width * line + x * stride + tap % width;
              sum += int64_t{pixels[static_cast<size_t>(pixel * all + kSkipped + c)] - zero} *
                     weights[static_cast<size_t>(tap * all + kSkipped + c)];
            }
            const auto channel = static_cast<size_t>(c);
            const float exact = std::fma(static_cast<float>(sum), multipliers[channel], offsets[channel]);
            ASSERT_EQ(result, rounded(exact, range))
                << height << " x " << width << ", output " << x << ", channel " << c;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace rushlight::microkernels
