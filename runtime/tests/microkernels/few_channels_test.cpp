#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "microkernels/conv/f32.h"
#include "tests/microkernels/f32_fixture.h"
#include "tests/microkernels/packed_matrix.h"

namespace rushlight::microkernels {

namespace {

class FewChannelsTest : public F32Fixture {
 protected:
  PackedConvolution convolution(const Window& window, int64_t channels, int64_t outputs) const {
    PackedConvolution c;
    c.kernels = &kernels;
    c.window = window;
    c.channels = channels;
    c.outputs = outputs;
    c.zeros = zeros.data();
    return c;
  }
  const std::vector<float> zeros = std::vector<float>(64);
};

INSTANTIATE_TEST_SUITE_P(Sets, FewChannelsTest, testing::ValuesIn(all_sets()), name_of);

// Returns a channels-last image [n, h, w, c], or an image whose channels are planes.
Image image_of(int64_t n, int64_t h, int64_t w, int64_t c, bool has_planes = false) {
  Image image;
  const int64_t sizes[] = {n, h, w, c}, last[] = {h * w * c, w * c, c, 1}, first[] = {c * h * w, w, 1, h * w};
  std::copy(sizes, sizes + 4, image.sizes);
  std::copy(has_planes ? first : last, (has_planes ? first : last) + 4, image.strides);
  return image;
}

TEST_P(FewChannelsTest, WindowsAreGatheredInsideOfTheScratchMemory) {
  constexpr int64_t kImages = 2, kHeight = 19, kOutputs = 5;
  const Window windows[] = {{3, 3, 1, 1, 1, 1, 1, 1}, {2, 5, 2, 1, 0, 3, 1, 1}, {3, 2, 1, 3, 2, 0, 2, 1},
                            {2, 3, 1, 1, 1, 4, 1, 4}, {4, 4, 4, 4, 0, 0, 1, 1}, {1, 7, 3, 2, 0, 0, 1, 1}};
  for (const Window& w : windows) {
    for (const int64_t width : {13, 23}) {
      for (const int64_t channels : {1, 3, 7}) {
        for (const bool has_planes : {false, true}) {
          const int64_t out_h = (kHeight + 2 * w.pad_h - w.dilation_h * (w.kernel_h - 1) - 1) / w.stride_h + 1;
          const int64_t out_w = (width + 2 * w.pad_w - w.dilation_w * (w.kernel_w - 1) - 1) / w.stride_w + 1;
          const Image in = image_of(kImages, kHeight, width, channels, has_planes);
          const Image out = image_of(kImages, out_h, out_w, kOutputs);
          const auto x = numbers(in.numel()), b = numbers(w.taps() * channels * kOutputs);
          const PackedMatrix packed(kernels, b, w.taps() * channels, kOutputs);
          PackedConvolution c = convolution(w, channels, kOutputs);
          c.weights = PackedWeights(packed.data());
          ASSERT_EQ(c.prepare(in, out, nullptr), Error::Ok);
          std::vector<float> memory(c.scratch_floats(1) + 32, 7.0f), got(static_cast<size_t>(out.numel()));
          float* scratch = memory.data();
          while (reinterpret_cast<uintptr_t>(scratch) % 64 != 0) ++scratch;
          const float* const sources[] = {x.data()};
          KernelRuntimeContext context(nullptr, nullptr);
          c.run(context, 1, sources, got.data(), nullptr, scratch);
          ASSERT_EQ(scratch[c.scratch_floats(1)], 7.0f);
          size_t at = 0;
          for (int64_t n = 0; n < kImages; ++n) {
            for (int64_t i = 0; i < out_h * out_w; ++i) {
              for (int64_t o = 0; o < kOutputs; ++o, ++at) {
                double sum = 0;
                for (int64_t k = 0; k < w.taps() * channels; ++k) {
                  const int64_t tap = k / channels;
                  const int64_t row = i / out_w * w.stride_h - w.pad_h + tap / w.kernel_w * w.dilation_h;
                  const int64_t column = i % out_w * w.stride_w - w.pad_w + tap % w.kernel_w * w.dilation_w;
                  if (row < 0 || row >= kHeight || column < 0 || column >= width) continue;
                  sum += double{x[static_cast<size_t>(n * in.strides[0] + row * in.strides[1] + column * in.strides[2] +
                                                      k % channels * in.strides[3])]} *
                         b[static_cast<size_t>(k * kOutputs + o)];
                }
                ASSERT_NEAR(got[at], sum, 1e-4) << width << " " << channels << " " << at;
              }
            }
          }
        }
      }
    }
  }
}

TEST_P(FewChannelsTest, WindowsOfTooManyPixelsAreRefused) {
  PackedConvolution c = convolution({3, 3, 65536, 65536, 0, 0, 65536, 65536}, 3, 8);
  EXPECT_EQ(c.prepare(image_of(1, 16, 16, 3), image_of(1, 16, 16, 8), nullptr), Error::InvalidProgram);
}

}  // namespace

}  // namespace rushlight::microkernels
