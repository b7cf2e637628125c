// Grouped convolutions of int8 images, compared with plain loops.
#include "microkernels/conv/int8_groups.h"

#include "tests/microkernels/int8_fixture.h"

namespace rushlight::microkernels {
namespace {

class Int8GroupsTest : public Int8Fixture {
 protected:
  // Convolves images [2, height, width, channels], which are stored XOR `mask`, and compares the results.
  void compare(int64_t channels, int64_t size, const Window& window, int64_t height, int64_t width, uint8_t mask) {
    PackedInt8Groups c;
    c.kernels = &kernels;
    c.window = window, c.channels = channels, c.size = size;
    c.zero = -7, c.range = {3, -100, 127};
    const auto multipliers = reals(channels, 0.0005f, 0.002f), offsets = reals(channels, -20, 20);
    c.multipliers = multipliers.data(), c.offsets = offsets.data();
    const int64_t taps = window.taps();
    const auto filters = numbers(channels * taps * size);
    Buffer packed(c.packed_bytes());
    c.pack(filters.data(), static_cast<uint8_t*>(packed.data()));
    const auto results = [](int64_t in, int64_t pad, int64_t kernel, int64_t dilation, int64_t stride) {
      return (in + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
    };
    const int64_t in_sizes[] = {2, height, width, channels};
    const int64_t out_sizes[] = {2, results(height, window.pad_h, window.kernel_h, window.dilation_h, window.stride_h),
                                 results(width, window.pad_w, window.kernel_w, window.dilation_w, window.stride_w),
                                 channels};
    ASSERT_TRUE(c.prepare(in_sizes, out_sizes));
    const auto in = numbers(2 * height * width * channels);
    std::vector<uint8_t> stored;
    for (const int8_t number : in) stored.push_back(static_cast<uint8_t>(number) ^ mask);
    std::vector<uint8_t> out(static_cast<size_t>(2 * out_sizes[1] * out_sizes[2] * channels), 0x55);
    Buffer scratch(2 * c.worker_bytes());
    KernelRuntimeContext context(nullptr, nullptr);
    PackedInt8Groups::Operands operands;
    operands.in = stored.data(), operands.in_mask = mask;
    operands.out = out.data(), operands.out_mask = mask;
    c.run(context, 2, operands, scratch.data());
    size_t at = 0;
    for (int64_t image = 0; image < 2; ++image) {
      for (int64_t y = 0; y < out_sizes[1]; ++y) {
        for (int64_t x = 0; x < out_sizes[2]; ++x) {
          for (int64_t o = 0; o < channels; ++o, ++at) {
            int64_t sum = 0;
            for (int64_t tap = 0; tap < taps; ++tap) {
              const int64_t v = y * window.stride_h - window.pad_h + tap / window.kernel_w * window.dilation_h;
              const int64_t u = x * window.stride_w - window.pad_w + tap % window.kernel_w * window.dilation_w;
              if (v < 0 || v >= height || u < 0 || u >= width) continue;
              for (int64_t i = 0; i < size; ++i) {
                const int64_t number =
                    in[static_cast<size_t>(((image * height + v) * width + u) * channels + o / size * size + i)];
                sum += (number - c.zero) * filters[static_cast<size_t>((o * taps + tap) * size + i)];
              }
            }
            const auto channel = static_cast<size_t>(o);
            const float real = static_cast<float>(sum) * multipliers[channel] + offsets[channel];
            const float exact = std::clamp(std::nearbyint(real) + 3, -100.0f, 127.0f);
            // Sets may round the product before the offset is added to it.
            ASSERT_NEAR(static_cast<int8_t>(out[at] ^ mask), exact, 1) << at;
            if (std::fabs(real - std::floor(real) - 0.5f) > 0.01f) {
              ASSERT_EQ(static_cast<int8_t>(out[at] ^ mask), exact) << at;
            }
          }
        }
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Sets, Int8GroupsTest, testing::ValuesIn(all_int8_sets()), int8_set_name);

TEST_P(Int8GroupsTest, SizesOfGroupsAndNumbersOfChannels) {
  const Window window{3, 3, 1, 1, 1, 1, 1, 1};
  for (const int64_t size : {4, 8, 16}) {
    for (const int64_t groups : {1, 3, 8}) {
      SCOPED_TRACE(testing::Message() << groups << " groups of " << size);
      compare(size * groups, size, window, 6, 9, 0);
    }
  }
}

TEST_P(Int8GroupsTest, NumbersOfPixels) {
  const Window window{1, 3, 1, 1, 0, 1, 1, 1};
  for (const int64_t width : {1, 2, 4, 5, 7, 8, 11, 16, 67}) compare(24, 8, window, 2, width, 0x80);
}

TEST_P(Int8GroupsTest, Windows) {
  for (const Window& window :
       {Window{3, 3, 2, 2, 1, 1, 1, 1}, Window{3, 3, 1, 1, 2, 2, 2, 2}, Window{5, 3, 2, 1, 0, 3, 1, 2},
        Window{1, 1, 1, 1, 0, 0, 1, 1}, Window{1, 1, 3, 2, 0, 0, 1, 1}, Window{2, 4, 1, 3, 1, 2, 3, 1}}) {
    for (const int64_t size : {4, 8, 16}) compare(48, size, window, 9, 12, size == 8 ? 0x80 : 0);
  }
}

// The input of an output row does not fit into the memory for several rows.
TEST_P(Int8GroupsTest, LongLines) { compare(96, 4, {3, 3, 1, 1, 1, 1, 1, 1}, 4, is_slow() ? 80 : 300, 0); }

}  // namespace
}  // namespace rushlight::microkernels
