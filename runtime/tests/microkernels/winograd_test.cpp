#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "microkernels/tables/f32_packed.h"
#include "tests/microkernels/f32_fixture.h"

namespace rushlight::microkernels {

namespace {

class WinogradTest : public F32Fixture {};

INSTANTIATE_TEST_SUITE_P(Sets, WinogradTest, testing::ValuesIn(all_sets()), name_of);

// A depthwise convolution, whose products are products of transformed numbers.
TEST_P(WinogradTest, TransformsMakeAConvolution) {
  for (const int64_t m : {2, 3, 4}) {
    for (const int64_t channels : {int64_t{1}, int64_t{kernels.width}, int64_t{2 * kernels.width + 3}}) {
      for (const int64_t missing : {0, 1}) {
        const WinogradTransforms& winograd = kernels.packed->winograd(m);
        const int64_t inputs = m + 2, points = inputs * inputs, lines = m - missing, columns = m;
        auto image = numbers(points * channels);
        const auto g = numbers(9 * channels), bias = numbers(channels), residual = numbers(m * m * channels);
        std::vector<float> u(static_cast<size_t>(points * channels)), v = u;
        winograd.filters(g.data(), channels, u.data(), channels);
        WinogradInput input{};
        input.from = image.data();
        input.line_step = inputs * channels;
        input.column_step = channels;
        input.first_line = missing;  // then there is no first line and no last column
        input.lines = inputs;
        input.columns = inputs - missing;
        input.channels = channels;
        input.to = v.data();
        input.to_step = channels;
        EXPECT_TRUE(winograd.input(input));
        for (size_t i = 0; i < u.size(); ++i) u[i] *= v[i];
        std::vector<float> got(static_cast<size_t>(m * m * channels), 77.0f);
        WinogradOutput output{};
        output.from = u.data();
        output.from_step = channels;
        output.channels = channels;
        output.bias = bias.data();
        output.to = got.data();
        output.line_step = m * channels;
        output.column_step = channels;
        output.lines = lines;
        output.columns = columns;
        output.epilogue.residual = residual.data();
        output.epilogue.clamps = true;
        output.epilogue.low = -0.5f;
        output.epilogue.high = 2.0f;
        winograd.output(output);
        for (int64_t i = 0; i < m * m * channels; ++i) {
          const int64_t c = i % channels, x = i / channels % m, y = i / channels / m;
          double want = static_cast<double>(bias[c]) + residual[i];
          for (int64_t tap = 0; tap < 9; ++tap) {
            const int64_t line = y + tap / 3, column = x + tap % 3;
            if (line < input.first_line || column >= input.columns) continue;
            want += static_cast<double>(g[tap * channels + c]) * image[(line * inputs + column) * channels + c];
          }
          want = y < lines ? std::clamp(want, -0.5, 2.0) : 77.0;
          ASSERT_NEAR(got[i], want, 2e-5) << "m " << m << " channels " << channels << " at " << y << ", " << x;
        }
        image[(points - 2 - missing) * channels] = 1e20f;
        EXPECT_FALSE(winograd.input(input));
      }
    }
  }
}

}  // namespace

}  // namespace rushlight::microkernels
