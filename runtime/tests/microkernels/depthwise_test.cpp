#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "microkernels/dwconv/f32.h"
#include "tests/microkernels/f32_fixture.h"

namespace rushlight::microkernels {

namespace {

class DepthwiseTest : public microkernels::F32Fixture {};

INSTANTIATE_TEST_SUITE_P(Sets, DepthwiseTest, testing::ValuesIn(microkernels::all_sets()), microkernels::name_of);

Image dense(const std::vector<float>& data, int64_t height, int64_t width, int64_t channels) {
  return {const_cast<float*>(data.data()),
          {1, height, width, channels},
          {height * width * channels, width * channels, channels, 1}};
}

// All rows at once, and a few rows at a time from a ring buffer of the smallest possible size.
TEST_P(DepthwiseTest, WindowsOverChannelsLast) {
  for (const int64_t kernel : {3, 5, 7}) {
    for (const int64_t stride : {1, 2}) {
      for (const int64_t width : {3, 7, 8, 14, 31, 64}) {
        for (const int64_t channels : {1, 16, 37, 160}) {
          const int64_t height = 9, pad = kernel / 2, rows = 3;
          const int64_t out_height = (height - 1) / stride + 1, out_width = (width - 1) / stride + 1;
          const auto in = numbers(height * width * channels), weights = numbers(kernel * kernel * channels);
          const auto bias = numbers(channels);
          std::vector<float> whole(static_cast<size_t>(out_height * out_width * channels)), parts = whole;
          PackedDepthwise d;
          d.kernels = &kernels;
          d.window = {kernel, kernel, stride, stride, pad, pad, 1, 1};
          d.epilogue.clamps = true;
          d.epilogue.low = -1, d.epilogue.high = 1;
          d.weights = weights.data();
          d.bias = bias.data();
          d.channels = channels;
          ASSERT_EQ(d.prepare(dense(in, height, width, channels), dense(whole, out_height, out_width, channels)),
                    Error::Ok);
          const int64_t line = width * channels, out_line = out_width * channels;
          d.compute({0, out_height, in.data(), height, whole.data(), out_line, channels});
          const int64_t held = (rows - 1) * stride + kernel;
          std::vector<float> ring(static_cast<size_t>(held * line));
          for (int64_t y = 0, ready = 0; y < out_height; y += rows) {
            const int64_t count = std::min(rows, out_height - y);
            for (; ready < std::min(height, (y + count - 1) * stride - pad + kernel); ++ready) {
              std::copy_n(in.data() + ready * line, line, ring.data() + ready % held * line);
            }
            d.compute({y, count, ring.data(), held, parts.data() + y * out_line, out_line, channels});
          }
          for (int64_t i = 0; i < out_height * out_line; ++i) {
            const int64_t c = i % channels, x = i / channels % out_width, y = i / out_line;
            double want = bias[c];
            for (int64_t tap = 0; tap < kernel * kernel; ++tap) {
              const int64_t row = y * stride - pad + tap / kernel, column = x * stride - pad + tap % kernel;
              if (row < 0 || row >= height || column < 0 || column >= width) continue;
              want += static_cast<double>(weights[tap * channels + c]) * in[row * line + column * channels + c];
            }
            ASSERT_NEAR(whole[i], std::clamp(want, -1.0, 1.0), 1e-5)
                << "window " << kernel << " stride " << stride << " width " << width << " channels " << channels;
            ASSERT_EQ(parts[i], whole[i]);
          }
        }
      }
    }
  }
}

// Windows of one row. Some are longer than the line, and some have padding on both sides.
TEST_P(DepthwiseTest, WindowsOfOneRow) {
  for (const int64_t kernel : {2, 8, 33}) {
    for (const int64_t stride : {1, 2}) {
      for (const int64_t dilation : {1, 3}) {
        for (const int64_t width : {5, 21, 64}) {
          for (const int64_t channels : {3, 32, 37}) {
            const int64_t pad = kernel / 2 * dilation;
            const int64_t out_width = (width + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
            const auto in = numbers(width * channels), weights = numbers(kernel * channels), bias = numbers(channels);
            std::vector<float> got(static_cast<size_t>(out_width * channels));
            PackedDepthwise d;
            d.kernels = &kernels;
            d.window = {1, kernel, 1, stride, 0, pad, 1, dilation};
            d.weights = weights.data();
            d.bias = bias.data();
            d.channels = channels;
            ASSERT_EQ(d.prepare(dense(in, 1, width, channels), dense(got, 1, out_width, channels)), Error::Ok);
            d.compute({0, 1, in.data(), 1, got.data(), out_width * channels, channels});
            for (int64_t i = 0; i < out_width * channels; ++i) {
              const int64_t c = i % channels, x = i / channels;
              double want = bias[c];
              for (int64_t tap = 0; tap < kernel; ++tap) {
                const int64_t column = x * stride - pad + tap * dilation;
                if (column < 0 || column >= width) continue;
                want += static_cast<double>(weights[tap * channels + c]) * in[column * channels + c];
              }
              ASSERT_NEAR(got[i], want, 1e-5) << "window " << kernel << " stride " << stride << " dilation " << dilation
                                              << " width " << width << " channels " << channels << " at " << i;
            }
          }
        }
      }
    }
  }
}

}  // namespace

}  // namespace rushlight::microkernels
