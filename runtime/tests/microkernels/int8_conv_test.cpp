#include <array>

#include "microkernels/conv/int8.h"
#include "tests/microkernels/int8_fixture.h"

namespace rushlight::microkernels {
namespace {

class Int8ConvTest : public Int8Fixture {};

INSTANTIATE_TEST_SUITE_P(Sets, Int8ConvTest, testing::ValuesIn(all_int8_sets()), int8_set_name);

// A window over two axes of an image of 2 x 5 x 6 pixels.
Int8Window window_of(const std::vector<int8_t>& image, int64_t channels, int64_t stride, int64_t dilation,
                     bool transposed) {
  Int8Window w{};
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

// Returns the number that a tap reads for an output pixel.
int8_t tap_of(const Int8Window& w, int64_t pixel, int64_t ky, int64_t kx, int64_t channel) {
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

TEST_P(Int8ConvTest, PixelsOfAWindow) {
  for (const bool transposed : {false, true}) {
    for (const int64_t stride : {1, 2}) {
      for (const int64_t dilation : {1, 2}) {
        for (const int64_t inputs : {3, 6}) {
          const auto image = numbers(2 * 5 * 6 * 6);
          const Int8Window w = window_of(image, 6, stride, dilation, transposed);
          const Int8Gather gather{&kernels, &w, 6 - inputs, inputs};
          const auto size = static_cast<size_t>(w.taps() * inputs * kernels.lhs_size);
          for (int64_t pixel = 0; pixel < 2 * w.out_pixels(); ++pixel) {
            std::vector<int8_t> taps;
            for (int64_t t = 0; t < 9; ++t) {
              for (int64_t c = 0; c < inputs; ++c) taps.push_back(tap_of(w, pixel, t / 3, t % 3, 6 - inputs + c));
            }
            std::vector<uint8_t> want(size), got(size + 1, 99);
            kernels.pack_lhs(reinterpret_cast<const uint8_t*>(taps.data()), 0, 9 * inputs, want.data());
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

TEST_P(Int8ConvTest, RowsOfPixelsOfAWindow) {
  for (const int64_t stride : {1, 2}) {
    for (const int64_t dilation : {1, 2}) {
      for (const int64_t channels : {3, 6, 11, 16, 20, 23, 64}) {
        const auto image = numbers(2 * 5 * 6 * channels);
        const Int8Window w = window_of(image, channels, stride, dilation, false);
        const Int8Gather gather{&kernels, &w, 0, channels};
        ASSERT_TRUE(has_lines(w));
        const int64_t size = w.taps() * channels * kernels.lhs_size, row = (size + 63) / 64 * 64;
        const int64_t pixels = 2 * w.out_pixels() - 3;
        Buffer scratch(lines_size(kernels, w, channels)), got(static_cast<size_t>(pixels * row));
        Int8Lines lines{&kernels, &w, 0, channels, scratch.data()};
        // Gathers from the middle of a line on, in two parts.
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

// Returns a window of kernel x kernel over one image, padded so that its center is the output pixel.
Int8Window image_window(const std::vector<int8_t>& image, int64_t channels, std::array<int64_t, 2> size,
                        std::array<int64_t, 2> out_size, int64_t kernel, int64_t stride) {
  Int8Window w{};
  w.in = reinterpret_cast<const uint8_t*>(image.data());
  w.zero = -7, w.channels = channels;
  w.size[0] = w.out_size[0] = w.kernel[0] = w.stride[0] = w.dilation[0] = 1;
  for (size_t i = 0; i < 2; ++i) {
    w.size[i + 1] = size[i], w.out_size[i + 1] = out_size[i];
    w.kernel[i + 1] = kernel, w.padding[i + 1] = kernel / 2, w.stride[i + 1] = stride, w.dilation[i + 1] = 1;
  }
  return w;
}

// A convolution to int8. At first its LHS is gathered from the windows.
struct Convolution {
  Convolution(const Int8Gather& gather, int64_t m, int64_t n, const std::vector<int8_t>& filters,
              const std::vector<float>& multiplier)
      : packed(packed_rhs_size(*gather.kernels, n, depth(gather))),
        scratch(gemm_scratch(*gather.kernels, depth(gather))),
        corrections(static_cast<size_t>(n)) {
    pack_rhs(*gather.kernels, filters.data(), depth(gather), n, depth(gather), packed.data());
    zero_corrections(*gather.kernels, packed.data(), n, gather.window->zero, nullptr, corrections.data());
    gemm.m = m, gemm.n = n, gemm.rhs = packed.data();
    gemm.out_kind = Int8Gemm::Out::Quantized, gemm.out_stride = n;
    gemm.requantize = {corrections.data(), multiplier.data(), nullptr, 5, -128, 127};
    set_lhs(&gemm, gather);
  }
  static int64_t depth(const Int8Gather& gather) { return gather.window->taps() * gather.inputs; }

  Buffer packed, scratch;
  std::vector<int32_t> corrections;
  Int8Gemm gemm{};
};

TEST_P(Int8ConvTest, WindowsOverAnImageGiveWhatGatheredOnesGive) {
  if (!kernels.gemm_results) GTEST_SKIP() << "windows are gathered";
  const int64_t height = 5, n = column_step(kernels) + kernels.lanes + 5;
  const auto widths =
      kernels.rows > 14 ? std::vector<int64_t>{11, 16, 24, 32, 56} : std::vector<int64_t>{5, 7, 11, 14, 20, 28};
  for (const int64_t width : widths) {
    for (const int64_t stride : {1, 2}) {
      for (const int64_t inputs : {4, 20, 48}) {
        const int64_t size[] = {(height - 1) * stride + 1, (width - 1) * stride + 1}, channels = inputs + 3;
        const int64_t k = 9 * inputs, m = height * width;
        const auto image = numbers(size[0] * size[1] * channels), rhs = numbers(n * k), others = numbers(m * n);
        Int8Window w = image_window(image, channels, {size[0], size[1]}, {height, width}, 3, stride);
        ASSERT_TRUE(has_windows(kernels, w, inputs, n)) << width;
        const Int8Gather gather{&kernels, &w, 3, inputs};
        const auto multiplier = reals(n, 5e-4f, 2e-3f);
        Convolution c(gather, m, n, rhs, multiplier);
        Int8Gemm& p = c.gemm;
        for (const bool adds : {false, true}) {
          if (adds) p.requantize.sum = {others.data(), 0.7f, 0.9f, -2.5f, {3, -128, 127}};
          std::vector<uint8_t> want(static_cast<size_t>(m * n)), got(want);
          p.windows = nullptr;
          p.out = want.data();
          multiply(kernels, p, 0, m, 0, n, c.scratch.data());
          p.out = got.data();
          for (const int64_t begin : {int64_t{0}, m / 3}) {
            const int64_t end = begin == 0 ? m / 3 : m;
            std::vector<uint8_t> lines(windows_size(w, inputs));
            const Int8Windows windows = read_windows(gather, begin, end, lines.data());
            p.windows = &windows;
            multiply(kernels, p, begin, end, 0, n, c.scratch.data());
          }
          ASSERT_EQ(want, got) << width << " wide, stride " << stride << ", inputs " << inputs;
        }
      }
    }
  }
}

TEST_P(Int8ConvTest, PixelsReadWhereTheyLieGiveWhatGatheredOnesGive) {
  if (!kernels.gemm_results) GTEST_SKIP() << "pixels are gathered";
  const int64_t height = 5, n = column_step(kernels) + kernels.lanes + 5;
  const auto widths = kernels.rows > 14 ? std::vector<int64_t>{11, 16, 28, 56} : std::vector<int64_t>{5, 7, 14, 28};
  for (const int64_t width : widths) {
    for (const int64_t inputs : {4, 120}) {
      // No window may need the last line and the last column.
      const int64_t channels = inputs + 3, m = height * width;
      const auto image = numbers(2 * height * (2 * width - 1) * channels), rhs = numbers(n * inputs);
      Int8Window w = image_window(image, channels, {2 * height, 2 * width - 1}, {height, width}, 1, 2);
      w.sign_mask = static_cast<uint8_t>(kernels.lhs_offset);
      const Int8Gather gather{&kernels, &w, 3, inputs};
      const auto multiplier = reals(n, 5e-4f, 2e-3f);
      Convolution c(gather, m, n, rhs, multiplier);
      Int8Gemm& p = c.gemm;
      std::vector<uint8_t> want(static_cast<size_t>(m * n)), got(want);
      p.out = want.data();
      multiply(kernels, p, 0, m, 0, n, c.scratch.data());
      ASSERT_TRUE(has_pixels(kernels, w, inputs, n)) << width;
      const Int8Windows windows = windows_of_pixels(gather);
      p.windows = &windows, p.out = got.data();
      multiply(kernels, p, 0, m / 3, 0, n, c.scratch.data());
      multiply(kernels, p, m / 3, m, 0, n, c.scratch.data());
      ASSERT_EQ(want, got) << width << " wide, inputs " << inputs;
      w.padding[2] = 1;
      EXPECT_FALSE(has_pixels(kernels, w, inputs, n));
    }
  }
}

TEST_P(Int8ConvTest, ChannelsWithFiltersOfTheirOwn) {
  for (const int64_t channels : {1, 7, 37, 130}) {
    for (const int64_t stride : {1, 2}) {
      const auto image = numbers(2 * 5 * 6 * channels), filters = numbers(9 * channels);
      const Int8Window w = window_of(image, channels, stride, 1, false);
      std::vector<int16_t> weights(static_cast<size_t>(packed_filters_size(channels, 9)));
      pack_filters(filters.data(), 1, channels, channels, 9, weights.data());
      std::vector<int32_t> bias(static_cast<size_t>(channels), 50), corrections(bias);
      filter_corrections(weights.data(), channels, 9, w.zero, bias.data(), corrections.data());
      const auto multiplier = reals(channels, 1e-3f, 2e-3f);
      const int64_t pixels = 2 * w.out_pixels();
      std::vector<uint8_t> out(static_cast<size_t>(pixels * channels) + 1, 77);
      const Requantize how{corrections.data(), multiplier.data(), nullptr, 5, -128, 127};
      Buffer scratch(depthwise_scratch(w));
      const Int8Depthwise d{&w, weights.data(), how, out.data()};
      convolve_depthwise(kernels, d, 0, 11, scratch.data());
      convolve_depthwise(kernels, d, 11, pixels, scratch.data());
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

}  // namespace
}  // namespace rushlight::microkernels
