// Convolutions, pooling, means and sums of whole int8 tensors, compared with plain loops.
#include "microkernels/conv/int8_packed.h"

#include <memory>

#include "core/rounding.h"
#include "microkernels/elementwise/int8.h"
#include "microkernels/pool/int8.h"
#include "microkernels/reduce/int8.h"
#include "tests/microkernels/int8_fixture.h"

namespace rushlight::microkernels {
namespace {

class PackedInt8Test : public Int8Fixture {};

INSTANTIATE_TEST_SUITE_P(Sets, PackedInt8Test, testing::ValuesIn(all_int8_sets()), int8_set_name);

int8_t rounded(float value, const Int8Range& range) {
  const float moved = std::nearbyint(value) + static_cast<float>(range.zero);
  return static_cast<int8_t>(std::clamp(moved, static_cast<float>(range.least), static_cast<float>(range.most)));
}

// Images [2, 7, 6, channels], and 3 x 3 windows over them with padding 1.
struct Shapes {
  int64_t stride, in_channels, out_channels;
  int64_t in[4] = {2, 7, 6, in_channels};
  int64_t out[4] = {2, 6 / stride + 1, 5 / stride + 1, out_channels};
  Window window{3, 3, stride, stride, 1, 1, 1, 1};

  int64_t in_count() const { return in[0] * in[1] * in[2] * in[3]; }
  int64_t out_count() const { return out[0] * out[1] * out[2] * out[3]; }
  // Calls tap(index of the tap, index of the input pixel) for each tap of an output pixel that is inside of the image.
  template <typename Tap>
  void for_taps(int64_t pixel, const Tap& tap) const {
    const int64_t image = pixel / (out[1] * out[2]), y = pixel / out[2] % out[1], x = pixel % out[2];
    for (int64_t i = 0; i < 9; ++i) {
      const int64_t v = y * stride - 1 + i / 3, u = x * stride - 1 + i % 3;
      if (v >= 0 && v < in[1] && u >= 0 && u < in[2]) tap(i, (image * in[1] + v) * in[2] + u);
    }
  }
};

// The packed weights of two groups, and all other data that a convolution refers to.
struct Packed {
  Packed(const Int8Microkernels& kernels, const Shapes& s, const std::vector<int8_t>& filters) {
    conv.kernels = &kernels;
    conv.window = s.window;
    conv.groups = 2, conv.channels = s.in_channels / 2, conv.outputs = s.out_channels / 2;
    conv.zero = -7;
    conv.range = {3, -100, 127};
    for (int64_t o = 0; o < s.out_channels; ++o) multipliers.push_back(0.001f * static_cast<float>(o + 1));
    weights = std::make_unique<Buffer>(2 * conv.matrix_bytes());
    corrections.resize(static_cast<size_t>(s.out_channels));
    conv.weights = static_cast<const uint8_t*>(weights->data());
    for (int64_t g = 0; g < 2; ++g) {
      pack_rhs(kernels, filters.data() + g * conv.outputs * conv.depth(), conv.depth(), conv.outputs, conv.depth(),
               const_cast<uint8_t*>(conv.matrix(g)));
      zero_corrections(kernels, conv.matrix(g), conv.outputs, conv.zero, nullptr,
                       corrections.data() + g * conv.outputs);
    }
    conv.multipliers = multipliers.data(), conv.corrections = corrections.data();
  }

  PackedInt8Conv conv;
  std::vector<float> multipliers;
  std::vector<int32_t> corrections;
  std::unique_ptr<Buffer> weights;
};

// Returns the sum for an output pixel and channel, with filters [outputs, 9, channels of a group].
int64_t sum_of(const Shapes& s, const PackedInt8Conv& c, const std::vector<int8_t>& in,
               const std::vector<int8_t>& filters, int64_t pixel, int64_t output, int32_t zero) {
  int64_t sum = 0;
  s.for_taps(pixel, [&](int64_t tap, int64_t source) {
    for (int64_t i = 0; i < c.channels; ++i) {
      const int64_t number = in[static_cast<size_t>(source * s.in_channels + output / c.outputs * c.channels + i)];
      sum += (number - zero) * filters[static_cast<size_t>((output * 9 + tap) * c.channels + i)];
    }
  });
  return sum;
}

TEST_P(PackedInt8Test, Int8ResultsOfConvolutionsInGroups) {
  for (const int64_t stride : {1, 2}) {
    const Shapes s{stride, 12, 70};
    const auto in = numbers(s.in_count()), filters = numbers(70 * 9 * 6);
    Packed packed(kernels, s, filters);
    PackedInt8Conv& c = packed.conv;
    ASSERT_TRUE(c.prepare(s.in, s.out));
    std::vector<int8_t> out(static_cast<size_t>(s.out_count()));
    Buffer scratch(c.worker_bytes());
    PackedInt8Conv::Operands operands;
    operands.in = in.data(), operands.out = out.data();
    KernelRuntimeContext context(nullptr, nullptr);
    c.run(context, 1, operands, scratch.data());
    for (int64_t i = 0; i < s.out_count(); ++i) {
      const int64_t sum = sum_of(s, c, in, filters, i / 70, i % 70, c.zero);
      ASSERT_EQ(out[static_cast<size_t>(i)],
                rounded(static_cast<float>(sum) * packed.multipliers[static_cast<size_t>(i % 70)], c.range))
          << i;
    }
  }
}

// The two images have different scales and zero points. A residual is added after the product or within it.
TEST_P(PackedInt8Test, FloatResultsWithScalesOfImages) {
  const Shapes s{1, 12, 70};
  const auto in = numbers(s.in_count()), filters = numbers(70 * 9 * 6);
  const float scales[] = {0.5f, 0.25f};
  const int32_t zeros[] = {-3, 20};
  for (const bool in_place : {false, true}) {
    Packed packed(kernels, s, filters);
    PackedInt8Conv& c = packed.conv;
    c.gives_floats = true;
    c.epilogue.clamps = true, c.epilogue.low = -50, c.epilogue.high = 300;
    ASSERT_TRUE(c.prepare(s.in, s.out));
    std::vector<float> out(static_cast<size_t>(s.out_count()), 1.0f), residual(out.size(), 1.0f);
    Buffer scratch(c.worker_bytes());
    PackedInt8Conv::Operands operands;
    operands.in = in.data(), operands.out = out.data();
    operands.residual = in_place ? out.data() : residual.data();
    operands.row_scales = scales, operands.row_zeros = zeros, operands.scale_rows = 2;
    KernelRuntimeContext context(nullptr, nullptr);
    c.run(context, 1, operands, scratch.data());
    for (int64_t i = 0; i < s.out_count(); ++i) {
      const int64_t image = i / (s.out_count() / 2);
      const double sum = static_cast<double>(sum_of(s, c, in, filters, i / 70, i % 70, zeros[image]));
      const double want = sum * scales[image] * packed.multipliers[static_cast<size_t>(i % 70)] + 1;
      ASSERT_NEAR(out[static_cast<size_t>(i)], std::clamp(want, -50.0, 300.0), 1e-3) << i;
    }
  }
}

TEST(Int8TensorTest, MaximaAndMeansOfWindows) {
  for (const int64_t stride : {1, 2}) {
    const Shapes s{stride, 37, 37};
    std::vector<int8_t> in(static_cast<size_t>(s.in_count())), out(static_cast<size_t>(s.out_count()));
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int8_t>(i * 89 % 251);
    for (const bool is_maximum : {false, true}) {
      for (const bool counts_padding : {false, true}) {
        Int8Pool2d pool;
        pool.window = s.window;
        pool.range = is_maximum ? Int8Range{0, -90, 100} : Int8Range{5, -128, 127};
        pool.is_maximum = is_maximum, pool.counts_padding = counts_padding;
        pool.zero = -7, pool.factor = 0.75f;
        pool.prepare(s.in, s.out);
        Buffer scratch(pool.worker_bytes());
        pool.run(in.data(), out.data(), 0, pool.rows(), scratch.data());
        for (int64_t i = 0; i < s.out_count(); ++i) {
          int64_t most = -128, sum = 0, count = 0;
          s.for_taps(i / 37, [&](int64_t, int64_t source) {
            const int64_t number = in[static_cast<size_t>(source * 37 + i % 37)];
            most = std::max(most, number), sum += number + 7, ++count;
          });
          const float factor = 0.75f / static_cast<float>(counts_padding ? 9 : count);
          const int8_t want = is_maximum ? static_cast<int8_t>(std::clamp<int64_t>(most, -90, 100))
                                         : rounded(static_cast<float>(sum) * factor, pool.range);
          ASSERT_EQ(out[static_cast<size_t>(i)], want) << i;
        }
      }
    }
  }
}

TEST(Int8TensorTest, MeansDoNotDependOnThePieces) {
  std::vector<int8_t> in(2 * 50 * 130);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int8_t>(i * 89 % 251);
  for (const int64_t workers : {1, 3}) {
    Int8Mean mean;
    mean.outer = 2, mean.count = 50, mean.channels = 130;
    mean.zero = 4, mean.factor = 2, mean.range = {-1, -128, 127};
    mean.divide_for(workers);
    EXPECT_EQ(mean.parts(), workers == 1 ? 2 : 6);
    std::vector<int8_t> out(2 * 130);
    Buffer scratch(mean.worker_bytes());
    mean.run(in.data(), reinterpret_cast<uint8_t*>(out.data()), 0, mean.parts(), scratch.data());
    for (size_t i = 0; i < out.size(); ++i) {
      int32_t sum = 0;
      for (size_t j = 0; j < 50; ++j) sum += in[(i / 130 * 50 + j) * 130 + i % 130] - 4;
      ASSERT_EQ(out[i], rounded(static_cast<float>(sum) * (2.0f / 50), mean.range)) << i;
    }
  }
}

TEST(Int8TensorTest, SumsAndProductsOfTwo) {
  std::vector<int8_t> a(300), b(300), out(300);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<int8_t>(i * 7 % 256), b[i] = static_cast<int8_t>(i * 11 % 256);
  for (const bool multiplies : {false, true}) {
    // Factors are powers of two, so that floats are exact.
    const Int8Binary binary{multiplies, 3, -5, multiplies ? 0.0078125f : 0.5f, 0.25f, {2, -100, 120}};
    binary.run(a.data(), b.data(), 300, out.data());
    for (size_t i = 0; i < a.size(); ++i) {
      const float x = static_cast<float>(a[i] - 3), y = static_cast<float>(b[i] + 5);
      ASSERT_EQ(out[i], rounded(multiplies ? x * y * 0.0078125f : x * 0.5f + y * 0.25f, binary.range)) << i;
    }
  }
}

}  // namespace
}  // namespace rushlight::microkernels
