#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "microkernels/conv/f32.h"
#include "microkernels/tables/f32_packed.h"
#include "tests/microkernels/f32_fixture.h"
#include "tests/microkernels/packed_matrix.h"

namespace rushlight::microkernels {

namespace {

class DotsTest : public F32Fixture {
 protected:
  void SetUp() override {
    if (!kernels.packed->dots) GTEST_SKIP() << "there is no such function";
  }
};

INSTANTIATE_TEST_SUITE_P(Sets, DotsTest, testing::ValuesIn(all_sets()), name_of);

TEST_P(DotsTest, EveryNumberOfColumnsAndRows) {
  constexpr int64_t kRows = 19, kStep = 20, kGap = 3;
  for (int64_t columns = 1; columns <= kernels.packed->dot_columns; ++columns) {
    for (const int64_t taps : {1, 3}) {
      for (const int64_t vectors : {1, 2, 5}) {
        for (const bool finishes : {false, true}) {
          const int64_t k = vectors * kernels.width, depth = taps * k, pixel = k + kGap;
          const auto a = numbers(taps * kRows * pixel), bias = numbers(kStep), residual = numbers(kRows * kStep);
          auto b = numbers(DotTile::padded_columns(columns) * depth);
          std::fill(b.begin() + columns * depth, b.end(), 0.0f);
          std::vector<const float*> rows;
          for (int64_t i = 0; i < taps * kRows; ++i) rows.push_back(a.data() + i * pixel);
          std::vector<float> c(static_cast<size_t>(kRows * kStep), 7.0f);
          DotTile tile{rows.data(), kRows, kGap, taps, k, b.data(), depth, nullptr, c.data(), kStep, columns, {}};
          if (finishes) {
            tile.bias = bias.data();
            tile.epilogue = {residual.data(), kStep, true, true, UnaryOp::Exp, -0.5f, 1.5f, 0, 0};
          }
          kernels.packed->dots(kRows, tile);
          for (int64_t i = 0; i < kRows; ++i) {
            for (int64_t j = 0; j < kStep; ++j) {
              const size_t at = static_cast<size_t>(i * kStep + j);
              if (j >= columns) {
                ASSERT_EQ(c[at], 7.0f) << columns << " " << i << " " << j;
                continue;
              }
              double sum = 0;
              for (int64_t l = 0; l < depth; ++l) {
                sum += double{rows[static_cast<size_t>(l / k * kRows + i)][kGap + l % k]} *
                       b[static_cast<size_t>(j * depth + l)];
              }
              if (finishes)
                sum = std::exp(std::min(std::max(sum + bias[static_cast<size_t>(j)] + residual[at], -0.5), 1.5));
              ASSERT_NEAR(c[at], sum, 1e-5) << columns << " " << taps << " " << k << " " << i << " " << j;
            }
          }
          // The result of a row does not depend on the other rows.
          std::vector<float> alone(static_cast<size_t>(kStep));
          for (int64_t i = 0; i < kRows; ++i) {
            DotTile one = tile;
            one.rows += i;
            one.c = alone.data();
            if (finishes) one.epilogue.residual += i * kStep;
            kernels.packed->dots(1, one);
            for (int64_t j = 0; j < columns; ++j)
              ASSERT_EQ(alone[static_cast<size_t>(j)], c[static_cast<size_t>(i * kStep + j)]);
          }
        }
      }
    }
  }
}

TEST_P(DotsTest, ConvolutionsOfFewOutputsUseThem) {
  constexpr int64_t kChannels = 64, kOutputs = 3, kDepth = 9 * kChannels;
  PackedConvolution c;
  c.kernels = &kernels;
  c.window = {3, 3, 1, 1, 1, 1, 1, 1};
  c.channels = kChannels;
  c.outputs = kOutputs;
  const auto b = numbers(kDepth * kOutputs);
  const PackedMatrix packed(kernels, b, kDepth, kOutputs);
  c.weights = PackedWeights(packed.data());
  ASSERT_EQ(c.dot_floats(), kOutputs * kDepth + kernels.width);
  std::vector<float> memory(static_cast<size_t>(c.dot_floats()), 7.0f);
  c.set_dot_weights(memory.data());
  ASSERT_GE(c.dot_weights, memory.data());
  ASSERT_LE(c.dot_weights + kOutputs * kDepth, memory.data() + memory.size());
  for (int64_t j = 0; j < kOutputs; ++j) {
    for (int64_t l = 0; l < kDepth; ++l) {
      ASSERT_EQ(c.dot_weights[j * kDepth + l], b[static_cast<size_t>(l * kOutputs + j)]);
    }
  }
  c.channels = kChannels + 1;
  EXPECT_EQ(c.dot_floats(), 0);
  c.channels = kChannels;
  c.outputs = kernels.packed->dot_columns + 1;
  EXPECT_EQ(c.dot_floats(), 0);
}

}  // namespace

}  // namespace rushlight::microkernels
