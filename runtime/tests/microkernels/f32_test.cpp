#include "microkernels/tables/f32.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "microkernels/gemm/f32.h"
#include "microkernels/reduce/f32.h"
#include "tests/microkernels/f32_fixture.h"

namespace rushlight::microkernels {

namespace {

class F32Test : public F32Fixture {};

INSTANTIATE_TEST_SUITE_P(Sets, F32Test, testing::ValuesIn(all_sets()), name_of);

// An array that is aligned for vectors of any width.
struct Panel {
  explicit Panel(int64_t n) : storage(static_cast<size_t>(n) + 16) {}
  float* data() {
    const auto address = reinterpret_cast<uintptr_t>(storage.data());
    return reinterpret_cast<float*>((address + 63) / 64 * 64);
  }
  std::vector<float> storage;
};

TEST_P(F32Test, GemmOfEveryShapeAndStart) {
  for (int rows = 1; rows <= kernels.gemm_rows; ++rows) {
    for (int vectors = 1; vectors <= kernels.gemm_vectors; ++vectors) {
      for (int start = 0; start < 6; ++start) {
        const BiasOf bias_of = std::array{BiasOf::None, BiasOf::Rows, BiasOf::Columns}[static_cast<size_t>(start % 3)];
        const bool accumulates = start >= 3;
        const int64_t k = rows == 2 ? 600 : 19, lda = k + 4, width = vectors * kernels.width, ldc = width + 5;
        const auto a = numbers(rows * lda), b = numbers(k * width), bias = numbers(width + rows);
        auto c = numbers(rows * ldc);
        const auto before = c;
        Panel packed(k * width);
        kernels.pack_rows(vectors, b.data(), width, k, width, packed.data());
        GemmTile tile{a.data(), lda, packed.data(), k, bias_of, bias.data(), c.data(), ldc};
        tile.accumulates = accumulates;
        if (bias_of == BiasOf::Rows) tile.next_a = a.data();
        kernels.gemm(rows, vectors, tile);
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t j = 0; j < ldc; ++j) {
            double want = before[i * ldc + j];
            if (j < width) {
              if (!accumulates) want = 0;
              if (bias_of == BiasOf::Rows) want += bias[i];
              if (bias_of == BiasOf::Columns) want += bias[j];
              for (int64_t l = 0; l < k; ++l) want += static_cast<double>(a[i * lda + l]) * b[l * width + j];
            }
            ASSERT_NEAR(c[i * ldc + j], want, 3e-5) << rows << "x" << vectors << " at " << i << ", " << j;
          }
        }
      }
    }
  }
}

TEST_P(F32Test, PackingPutsZerosBeyondTheLastColumn) {
  const int vectors = kernels.gemm_vectors;
  const int64_t width = vectors * kernels.width, k = 13;
  std::vector<int32_t> offsets;
  for (int32_t l = 0; l < k; ++l) offsets.push_back((l * 7) % 11);
  for (int64_t columns = 1; columns <= width; ++columns) {
    const auto b = numbers((k + width) * (k + width));
    const int64_t ldb = k + width;
    Panel rows(k * width), transposed(k * width), gathered(k * width);
    kernels.pack_rows(vectors, b.data(), ldb, k, columns, rows.data());
    kernels.pack_transposed(vectors, b.data(), ldb, k, columns, transposed.data());
    kernels.pack_gathered(vectors, b.data(), offsets.data(), k, gathered.data());
    for (int64_t l = 0; l < k; ++l) {
      for (int64_t j = 0; j < width; ++j) {
        ASSERT_EQ(rows.data()[l * width + j], j < columns ? b[l * ldb + j] : 0);
        ASSERT_EQ(transposed.data()[l * width + j], j < columns ? b[j * ldb + l] : 0);
        ASSERT_EQ(gathered.data()[l * width + j], b[static_cast<size_t>(offsets[static_cast<size_t>(l)] + j)]);
      }
    }
  }
}

TEST_P(F32Test, ProductsDoNotDependOnHowTheyAreDivided) {
#if defined(__clang__)
  // Clang fuses a product and a sum only within a basic block, and splits vectors that are wider than registers.
  if (std::string(kernels.name) == "wide") GTEST_SKIP() << "products of the set are not always fused";
#endif
  for (const int64_t k : {1, 40, 1024, 2500}) {
    const int64_t m = 2 * kernels.gemm_rows + 3, n = 3 * column_step(kernels) + 7;
    const auto a = numbers(m * k), b = numbers(k * n), bias = numbers(m);
    std::vector<float> whole(static_cast<size_t>(m * n)), parts(whole.size());
    F32Gemm gemm{};
    gemm.m = m, gemm.n = n, gemm.k = k;
    gemm.a = a.data(), gemm.lda = k;
    gemm.rhs = F32Gemm::Rhs::Rows;
    gemm.b = b.data(), gemm.ldb = n;
    gemm.bias_of = BiasOf::Rows, gemm.bias = bias.data();
    gemm.c = whole.data(), gemm.ldc = n;
    Panel scratch(gemm_scratch(kernels, k, n));
    multiply(kernels, gemm, 0, m, 0, n, scratch.data());
    gemm.c = parts.data();
    const int64_t middle = 2 * column_step(kernels);
    multiply(kernels, gemm, 0, 5, 0, middle, scratch.data());
    multiply(kernels, gemm, 5, m, 0, middle, scratch.data());
    multiply(kernels, gemm, 0, m - 1, middle, n, scratch.data());
    multiply(kernels, gemm, m - 1, m, middle, n, scratch.data());
    EXPECT_EQ(std::memcmp(whole.data(), parts.data(), whole.size() * sizeof(float)), 0) << "k " << k;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; j += 5) {
        double want = bias[static_cast<size_t>(i)];
        for (int64_t l = 0; l < k; ++l) want += static_cast<double>(a[i * k + l]) * b[l * n + j];
        ASSERT_NEAR(whole[i * n + j], want, 1e-4) << "k " << k;
      }
    }
  }
}

TEST_P(F32Test, DotsAndScaledRows) {
  for (const int64_t k : {0, 1, 7, 33, 130, 300}) {
    for (const int64_t n : {1, 4, 6, 16, 32, 37, 64, 128, 256}) {
      const int64_t m = 3;
      const auto a = numbers(m * k + 1), b = numbers(k * n + 1);
      auto dots = numbers(m * n), rows = numbers(n);
      const auto dots_before = dots, rows_before = rows;
      kernels.add_dots(m, n, k, a.data(), k, b.data(), k, dots.data(), n);
      kernels.add_scaled_rows(k, a.data(), b.data(), n, n, rows.data());
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < m; ++i) {
          double want = dots_before[i * n + j];
          for (int64_t l = 0; l < k; ++l) want += static_cast<double>(a[i * k + l]) * b[j * k + l];
          ASSERT_NEAR(dots[i * n + j], want, 3e-5);
        }
        double want = rows_before[j];
        for (int64_t l = 0; l < k; ++l) want += static_cast<double>(a[l]) * b[l * n + j];
        ASSERT_NEAR(rows[j], want, 3e-5);
      }
    }
  }
}

DepthwisePlane plane_of(int64_t height, int64_t width, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) {
  DepthwisePlane p{{kernel, kernel, stride, stride, pad, pad, dilation, dilation}, height, width, 0, 0, 3, 0};
  p.out_height = (height + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
  p.out_width = (width + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
  return p;
}

TEST_P(F32Test, WindowsOverPlanes) {
  for (const int64_t width : {1, 5, 7, 14, 17, 40}) {
    for (const int64_t kernel : {1, 2, 3, 5}) {
      for (const int64_t stride : {1, 2}) {
        for (const int64_t dilation : {1, 2}) {
          const int64_t height = 11, reach = dilation * (kernel - 1) + 1, pad = reach / 2;
          if (width + 2 * pad < reach) continue;
          DepthwisePlane p = plane_of(height, width, kernel, stride, pad, dilation);
          p.row = depthwise_row(p, kernels);
          const auto x = numbers(height * width), weights = numbers(kernel * kernel);
          const size_t outputs = static_cast<size_t>(p.out_height * p.out_width);
          std::vector<float> y(outputs + 1, 77.0f), largest(outputs + 1, 77.0f);
          std::vector<int64_t> where(outputs + 1, 77);
          std::vector<float> zeros(static_cast<size_t>(depthwise_scratch(p)));
          std::vector<float> lowest(zeros.size(), -std::numeric_limits<float>::infinity());
          kernels.depthwise(p, x.data(), weights.data(), 0.5f, y.data(), zeros.data());
          kernels.max_pool(p, x.data(), largest.data(), where.data(), lowest.data());
          EXPECT_TRUE(y[outputs] == 77.0f && largest[outputs] == 77.0f && where[outputs] == 77);
          for (int64_t i = 0; i < static_cast<int64_t>(outputs); ++i) {
            double sum = 0.5;
            float best = -std::numeric_limits<float>::infinity();
            int64_t best_at = -1;
            for (int64_t tap = 0; tap < kernel * kernel; ++tap) {
              const int64_t iy = i / p.out_width * stride - pad + tap / kernel * dilation;
              const int64_t ix = i % p.out_width * stride - pad + tap % kernel * dilation;
              if (iy < 0 || ix < 0 || iy >= height || ix >= width) continue;
              sum += static_cast<double>(weights[static_cast<size_t>(tap)]) * x[static_cast<size_t>(iy * width + ix)];
              if (x[static_cast<size_t>(iy * width + ix)] > best) {
                best = x[static_cast<size_t>(iy * width + ix)], best_at = iy * width + ix;
              }
            }
            ASSERT_NEAR(y[static_cast<size_t>(i)], sum, 1e-5) << width << " " << kernel << " " << stride;
            ASSERT_EQ(largest[static_cast<size_t>(i)], best) << width << " " << kernel << " " << stride;
            if (best_at < 0) continue;  // a window that lies completely in the padding has no position
            ASSERT_EQ(where[static_cast<size_t>(i)], best_at) << width << " " << kernel << " " << stride;
          }
        }
      }
    }
  }
}

TEST_P(F32Test, FunctionsAreWithinUnitsOfTheLastPlace) {
  struct Function {
    UnaryOp op;
    double (*exact)(double);
    double units = 2.5;
    float p = 0, q = 0;
  };
  const Function functions[] = {
      {UnaryOp::Exp, [](double x) { return std::exp(x); }},
      {UnaryOp::Log, [](double x) { return std::log(x); }},
      {UnaryOp::Tanh, [](double x) { return std::tanh(x); }},
      {UnaryOp::Erf, [](double x) { return std::erf(x); }},
      {UnaryOp::Rsqrt, [](double x) { return 1 / std::sqrt(x); }},
      {UnaryOp::Sqrt, [](double x) { return std::sqrt(x); }},
      {UnaryOp::Sin, [](double x) { return std::sin(x); }, 1.6},
      {UnaryOp::Cos, [](double x) { return std::cos(x); }, 1.6},
      {UnaryOp::Log1p, [](double x) { return std::log1p(x); }, 2},
      {UnaryOp::Expm1, [](double x) { return std::expm1(x); }, 2},
      {UnaryOp::Log2, [](double x) { return std::log2(x); }},
      {UnaryOp::Log10, [](double x) { return std::log10(x); }},
      {UnaryOp::Softplus, [](double x) { return x > 20 ? x : std::log1p(std::exp(x)); }, 3, 1, 20},
      {UnaryOp::Softplus, [](double x) { return x * 0.5 > 4 ? x : std::log1p(std::exp(x * 0.5)) / 0.5; }, 3, 0.5f, 4},
      {UnaryOp::Mish, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }, 4},
      {UnaryOp::Elu, [](double x) { return x > 0 ? 3 * x : -2 * std::expm1(x); }, 2, -2, 3},
      {UnaryOp::Floor, [](double x) { return std::floor(x); }, 0},
      {UnaryOp::Ceil, [](double x) { return std::ceil(x); }, 0},
      {UnaryOp::Trunc, [](double x) { return std::trunc(x); }, 0},
      {UnaryOp::Round, [](double x) { return std::nearbyint(x); }, 0},
      {UnaryOp::Sign, [](double x) { return x > 0   ? 1.0
                                            : x < 0 ? -1.0
                                                    : 0.0; }, 0},
      {UnaryOp::Sigmoid, [](double x) { return x < -87 ? NAN : 1 / (1 + std::exp(-x)); }, 3}};
  std::vector<float> x, y;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 65521) {
    const uint32_t pattern = static_cast<uint32_t>(bits);
    float value;
    std::memcpy(&value, &pattern, sizeof(value));
    x.push_back(value);
  }
  y.resize(x.size());
  for (const Function& function : functions) {
    kernels.unary(function.op, x.data(), y.data(), static_cast<int64_t>(x.size()), function.p, function.q);
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = function.exact(x[i]);
      const float rounded = static_cast<float>(exact);
      // The power is a subnormal number, as in eager PyTorch.
      if ((function.op == UnaryOp::Sigmoid || function.op == UnaryOp::Mish) && x[i] < -87) continue;
      if (std::isnan(rounded)) {
        ASSERT_TRUE(std::isnan(y[i])) << x[i];
      } else if (std::isinf(rounded)) {
        ASSERT_EQ(y[i], rounded) << x[i];
      } else {
        const float next = std::nextafter(std::fabs(rounded), std::numeric_limits<float>::infinity());
        const double unit = static_cast<double>(next) - std::fabs(rounded);
        ASSERT_LE(std::fabs(y[i] - exact), function.units * unit)
            << "op " << static_cast<int>(function.op) << " of " << x[i];
      }
    }
  }
}

TEST_P(F32Test, FunctionsKeepTheSignOfZeroAndRoundTiesToEven) {
  const float x[] = {0.0f, -0.0f, 1e-40f, -1e-40f, 0.5f, -0.5f, 1.5f, -2.5f, 8388607.5f, -8388607.5f, 0.49999997f};
  constexpr int64_t kCount = sizeof(x) / sizeof(float);
  float y[kCount];
  const auto expect = [&](UnaryOp op, float (*function)(float), int64_t n) {
    kernels.unary(op, x, y, n, 1, 1);
    for (int64_t i = 0; i < n; ++i) {
      EXPECT_EQ(y[i], function(x[i])) << "op " << static_cast<int>(op) << " of " << x[i];
      EXPECT_EQ(std::signbit(y[i]), std::signbit(function(x[i]))) << "op " << static_cast<int>(op) << " of " << x[i];
    }
  };
  expect(UnaryOp::Floor, [](float v) { return std::floor(v); }, kCount);
  expect(UnaryOp::Ceil, [](float v) { return std::ceil(v); }, kCount);
  expect(UnaryOp::Trunc, [](float v) { return std::trunc(v); }, kCount);
  expect(UnaryOp::Round, [](float v) { return std::nearbyint(v); }, kCount);
  // For arguments near 0, the result equals the argument.
  expect(UnaryOp::Log1p, [](float v) { return v; }, 4);
  expect(UnaryOp::Expm1, [](float v) { return v; }, 4);
  expect(UnaryOp::Elu, [](float v) { return v; }, 4);
  for (int exponent = -126; exponent < 128; ++exponent) {
    const float power = std::ldexp(1.0f, exponent);
    kernels.unary(UnaryOp::Log2, &power, y, 1, 0, 0);
    EXPECT_EQ(y[0], static_cast<float>(exponent));
  }
}

TEST_P(F32Test, AnglesOfPoints) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> values = {0.0f,       1e-45f, 1e-38f,     1e-20f, 3e-4f,   0.3f,
                               0.4142136f, 1.0f,   2.4142137f, 3e38f,  infinity};
  for (int i = 1; i < 400; ++i) values.push_back(static_cast<float>(i) * 0.0171f);
  const size_t half = values.size();
  for (size_t i = 0; i < half; ++i) values.push_back(-values[i]);
  const int64_t n = static_cast<int64_t>(values.size());
  std::vector<float> angles(values.size());
  for (const float y : values) {
    kernels.binary(BinaryOp::Atan2, &y, 0, values.data(), 1, angles.data(), n, 0);
    for (size_t i = 0; i < values.size(); ++i) {
      const double exact = std::atan2(double{y}, double{values[i]});
      const float rounded = static_cast<float>(exact);
      const double unit = static_cast<double>(std::nextafter(std::fabs(rounded), infinity)) - std::fabs(rounded);
      ASSERT_LE(std::fabs(angles[i] - exact), 3 * unit) << y << ", " << values[i];
      ASSERT_EQ(std::signbit(angles[i]), std::signbit(exact)) << y << ", " << values[i];
    }
  }
  const float some[] = {std::nanf(""), 1.0f}, others[] = {1.0f, std::nanf("")};
  kernels.binary(BinaryOp::Atan2, some, 1, others, 1, angles.data(), 2, 0);
  EXPECT_TRUE(std::isnan(angles[0]) && std::isnan(angles[1]));
}

TEST_P(F32Test, SineAndCosineAreExactNextToQuarterTurns) {
  std::vector<float> x;
  for (int quarters = -9000; quarters <= 9000; ++quarters) {
    const float near = static_cast<float>(quarters * 1.57079632679489662);
    for (float v : {near, std::nextafter(near, 1e9f), std::nextafter(near, -1e9f)}) x.push_back(v);
  }
  std::vector<float> y(x.size());
  for (const UnaryOp op : {UnaryOp::Sin, UnaryOp::Cos}) {
    kernels.unary(op, x.data(), y.data(), static_cast<int64_t>(x.size()), 0, 0);
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = op == UnaryOp::Sin ? std::sin(double{x[i]}) : std::cos(double{x[i]});
      ASSERT_NEAR(y[i], exact, 1.6 * 1.2e-7 * std::fabs(exact)) << x[i];
    }
  }
  const float zeros[] = {-0.0f, 0.0f};
  float sines[2];
  kernels.unary(UnaryOp::Sin, zeros, sines, 2, 0, 0);
  EXPECT_TRUE(sines[0] == 0.0f && std::signbit(sines[0]) && !std::signbit(sines[1]));
}

TEST_P(F32Test, GeluIsWithinThreeTenMillionthsAndEndsExactly) {
  std::vector<float> x;
  for (int i = -80000; i <= 80000; ++i) x.push_back(static_cast<float>(i) * 1e-4f);
  std::vector<float> y(x.size());
  kernels.unary(UnaryOp::Gelu, x.data(), y.data(), static_cast<int64_t>(x.size()), 0, 0);
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = x[i] * 0.5 * std::erfc(-x[i] * std::sqrt(0.5));
    ASSERT_NEAR(y[i], exact, 3e-7 * std::max(1.0, std::fabs(static_cast<double>(x[i])))) << x[i];
  }
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> far = {-0.0f, 6.0f, 1e30f, infinity, -6.0f, -1e30f, -infinity, std::nanf("")};
  std::vector<float> ends(far.size());
  kernels.unary(UnaryOp::Gelu, far.data(), ends.data(), static_cast<int64_t>(far.size()), 0, 0);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(ends[i], far[i]);
  EXPECT_TRUE(std::signbit(ends[0]));
  EXPECT_EQ(ends[4], 0.0f);
  EXPECT_EQ(ends[5], 0.0f);
  EXPECT_TRUE(std::isnan(ends[6]) && std::isnan(ends[7]));
}

TEST_P(F32Test, ElementwiseReachesTheLastElementAndNoFurther) {
  for (int64_t n = 1; n < 4 * kernels.width; ++n) {
    const auto a = numbers(n), b = numbers(n);
    std::vector<float> y(static_cast<size_t>(n) + 1, 77.0f);
    std::vector<uint8_t> less(static_cast<size_t>(n) + 1, 77);
    for (const int64_t a_step : {0, 1}) {
      for (const int64_t b_step : {0, 1}) {
        if (a_step + b_step == 0) continue;
        kernels.binary(BinaryOp::AddScaled, a.data(), a_step, b.data(), b_step, y.data(), n, 2.0f);
        kernels.compare(CompareOp::Less, a.data(), a_step, b.data(), b_step, less.data(), n);
        for (int64_t i = 0; i < n; ++i) {
          ASSERT_FLOAT_EQ(y[static_cast<size_t>(i)], a[i * a_step] + 2 * b[i * b_step]);
          ASSERT_EQ(less[static_cast<size_t>(i)], a[i * a_step] < b[i * b_step]);
        }
      }
    }
    kernels.unary(UnaryOp::Clamp, a.data(), y.data(), n, -0.5f, 0.25f);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(y[static_cast<size_t>(i)], std::min(std::max(a[i], -0.5f), 0.25f));
    kernels.where(less.data(), 1, a.data(), 1, b.data(), 0, y.data(), n);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(y[static_cast<size_t>(i)], less[static_cast<size_t>(i)] ? a[i] : b[0]);
    EXPECT_TRUE(y[static_cast<size_t>(n)] == 77.0f && less[static_cast<size_t>(n)] == 77);
  }
}

TEST_P(F32Test, RowsAreReducedToOne) {
  constexpr int64_t kStride = 37;
  const auto x = numbers(20 * kStride);
  for (const int64_t n : {1, 8, 16, 37}) {
    for (const int64_t rows : {0, 1, 7, 8, 20}) {
      for (const BinaryOp op : {BinaryOp::Add, BinaryOp::Maximum, BinaryOp::Minimum}) {
        std::vector<float> y(static_cast<size_t>(n) + 1, 0.5f);
        kernels.reduce_rows(op, x.data(), kStride, rows, y.data(), n);
        for (int64_t j = 0; j < n; ++j) {
          float want = 0.5f;
          for (int64_t i = 0; i < rows; ++i) {
            const float value = x[static_cast<size_t>(i * kStride + j)];
            want = op == BinaryOp::Add       ? want + value
                   : op == BinaryOp::Maximum ? std::max(want, value)
                                             : std::min(want, value);
          }
          ASSERT_NEAR(y[static_cast<size_t>(j)], want, 1e-5);
        }
        EXPECT_EQ(y[static_cast<size_t>(n)], 0.5f);
      }
    }
  }
}

// The rounding error of a long sum of positive numbers is that of a partial sum.
TEST_P(F32Test, LongSumsOfRowsArePrecise) {
  constexpr int64_t kStride = 600;
  for (const int64_t rows : {0, 1, 256, 257, 5000}) {
    auto x = numbers(rows * kStride);
    for (float& value : x) value = std::abs(value);
    for (const int64_t n : {1, 37, 530}) {
      std::vector<float> sums(static_cast<size_t>(n) + 1, 0.5f), products(static_cast<size_t>(n));
      sum_rows(kernels, x.data(), kStride, rows, sums.data(), n);
      const std::vector<float> ones(static_cast<size_t>(rows), 1.0f);
      kernels.add_scaled_rows(rows, ones.data(), x.data(), kStride, n, products.data());
      for (int64_t j = 0; j < n; ++j) {
        double want = 0;
        for (int64_t i = 0; i < rows; ++i) want += static_cast<double>(x[static_cast<size_t>(i * kStride + j)]);
        ASSERT_NEAR(sums[static_cast<size_t>(j)], want, 5e-7 * want) << rows << " rows";
        ASSERT_NEAR(products[static_cast<size_t>(j)], want, 2e-6 * want) << rows << " rows";
      }
      EXPECT_EQ(sums[static_cast<size_t>(n)], 0.5f);
    }
  }
}

TEST_P(F32Test, DividesRowsByTheirNorms) {
  constexpr int64_t kRows = 3, kGap = 2;
  for (const int64_t n : {1, 3, 16, 17, 100, 5000}) {
    const int64_t step = n + kGap;
    auto x = numbers(kRows * step);
    std::fill(x.begin() + step, x.begin() + 2 * step, 1e-3f / static_cast<float>(n));  // its norm is below epsilon
    std::vector<float> y(static_cast<size_t>(kRows * n) + 1, 77.0f);
    kernels.divide_by_norms(x.data(), step, y.data(), n, kRows, n, 0.01f);
    for (int64_t row = 0; row < kRows; ++row) {
      double squares = 0;
      for (int64_t i = 0; i < n; ++i)
        squares += std::pow(static_cast<double>(x[static_cast<size_t>(row * step + i)]), 2);
      const double norm = std::max(std::sqrt(squares), 0.01);
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_NEAR(y[static_cast<size_t>(row * n + i)], x[static_cast<size_t>(row * step + i)] / norm, 1e-6);
      }
    }
    EXPECT_EQ(y[static_cast<size_t>(kRows * n)], 77.0f);
  }
}

TEST_P(F32Test, NormalizesRows) {
  constexpr int64_t kRows = 37, kGap = 2;
  for (const int64_t n : {1, 3, 12, 16, 17, 40, 100, 5000}) {
    const int64_t step = n + kGap;
    const auto x = numbers(kRows * step), weight = numbers(n), bias = numbers(n);
    for (const bool subtracts_mean : {true, false}) {
      for (const bool is_in_place : {true, false}) {
        std::vector<float> y = is_in_place ? x : std::vector<float>(x.size(), 77.0f);
        const auto before = y;
        std::vector<float> means(kRows), scales(kRows);
        NormalizedRows rows;
        rows.x = is_in_place ? y.data() : x.data(), rows.y = y.data();
        rows.x_step = rows.y_step = step;
        rows.rows = kRows, rows.n = n;
        rows.subtracts_mean = subtracts_mean, rows.epsilon = 0.01;
        rows.weight = weight.data(), rows.bias = bias.data();
        rows.means = means.data(), rows.scales = scales.data();
        kernels.normalize_rows(rows);
        for (int64_t row = 0; row < kRows; ++row) {
          const float* const from = x.data() + row * step;
          double mean = 0, variance = 0;
          if (subtracts_mean) mean = std::accumulate(from, from + n, 0.0) / static_cast<double>(n);
          for (int64_t i = 0; i < n; ++i) variance += (from[i] - mean) * (from[i] - mean) / static_cast<double>(n);
          const double scale = 1 / std::sqrt(variance + 0.01);
          EXPECT_NEAR(means[static_cast<size_t>(row)], mean, 1e-6);
          EXPECT_NEAR(scales[static_cast<size_t>(row)], scale, 1e-5 * scale);
          for (int64_t i = 0; i < n; ++i) {
            const auto column = static_cast<size_t>(i);
            ASSERT_NEAR(y[static_cast<size_t>(row * step + i)],
                        (from[i] - mean) * scale * weight[column] + bias[column], 2e-5)
                << n << " " << row;
          }
          for (int64_t i = row * step + n; i < (row + 1) * step; ++i) {
            EXPECT_EQ(y[static_cast<size_t>(i)], before[static_cast<size_t>(i)]);
          }
        }
      }
    }
  }
}

TEST_P(F32Test, SumsOfGatheredRows) {
  constexpr int64_t kRows = 9, kStride = 150;
  const auto table = numbers(kRows * kStride), scales = numbers(kRows);
  const std::vector<int64_t> rows{3, 8, 0, 3, 7};
  for (const int64_t n : {1, 3, 4, 15, 16, 17, 63, 64, 100, 149}) {
    for (const float* const factors : {static_cast<const float*>(nullptr), scales.data()}) {
      for (const int64_t count : {0, 1, 5}) {
        auto y = numbers(n + 1);
        const auto before = y;
        kernels.add_gathered_rows(table.data(), kStride, rows.data(), factors, count, y.data(), n);
        for (int64_t j = 0; j <= n; ++j) {
          double wanted = before[static_cast<size_t>(j)];
          for (int64_t i = 0; j < n && i < count; ++i) {
            const double factor = factors ? factors[i] : 1.0;
            wanted += factor * table[static_cast<size_t>(rows[static_cast<size_t>(i)] * kStride + j)];
          }
          EXPECT_NEAR(y[static_cast<size_t>(j)], wanted, 1e-4) << n << " " << j;
        }
      }
    }
  }
}

TEST_P(F32Test, SumsExtremesAndSoftmaxOfRows) {
  for (const int64_t n : {1, 3, 16, 17, 100, 5000}) {
    const auto x = numbers(n);
    std::vector<float> y(static_cast<size_t>(n) + 1, 77.0f), columns(y);
    double sum = 0, squares = 0, total = 0;
    for (const float value : x) sum += value, squares += (value - 0.25) * (value - 0.25), total += std::exp(value);
    EXPECT_NEAR(kernels.sum(x.data(), n), sum, 1e-4);
    EXPECT_NEAR(kernels.squared_deviations(x.data(), n, 0.25f), squares, 1e-3);
    EXPECT_EQ(kernels.extreme(true, x.data(), n), *std::max_element(x.begin(), x.end()));
    EXPECT_EQ(kernels.extreme(false, x.data(), n), *std::min_element(x.begin(), x.end()));
    for (const bool logarithm : {false, true}) {
      kernels.softmax(logarithm, x.data(), y.data(), n);
      kernels.softmax_columns(logarithm, x.data(), columns.data(), n, 1, 1);
      for (int64_t i = 0; i < n; ++i) {
        const double share = std::exp(static_cast<double>(x[i])) / total;
        ASSERT_NEAR(y[static_cast<size_t>(i)], logarithm ? std::log(share) : share, 2e-6);
        ASSERT_NEAR(columns[static_cast<size_t>(i)], logarithm ? std::log(share) : share, 2e-6);
      }
    }
    EXPECT_EQ(y[static_cast<size_t>(n)], 77.0f);
  }
}

TEST_P(F32Test, WinogradTransformsMakeAConvolution) {
  const int64_t n = kernels.width + 3, stride = 2 * kernels.width + 5;
  const auto x = numbers(4 * (2 * n + 2)), g = numbers(9 * n);
  // The even and odd columns of four rows.
  const int64_t half = n + 1 + kernels.width;
  std::vector<float> split(static_cast<size_t>(8 * half), 0.0f);
  std::vector<int32_t> offsets;
  for (int64_t tap = 0; tap < 16; ++tap) {
    offsets.push_back(static_cast<int32_t>((tap / 4 * 2 + tap % 2) * half + tap % 4 / 2));
  }
  for (int64_t y = 0; y < 4; ++y) {
    for (int64_t column = 0; column < 2 * n + 2; ++column) {
      split[static_cast<size_t>((y * 2 + column % 2) * half + column / 2)] =
          x[static_cast<size_t>(y * (2 * n + 2) + column)];
    }
  }
  std::vector<float> u(static_cast<size_t>(16 * stride)), v(u.size()), products(u.size());
  kernels.winograd_weights(g.data(), n, u.data(), stride);
  kernels.winograd_input(split.data(), offsets.data(), n, v.data(), stride);
  for (int64_t filter = 0; filter < n; ++filter) {
    for (int64_t f = 0; f < 16; ++f) {
      for (int64_t i = 0; i < n; ++i) products[f * stride + i] = u[f * stride + filter] * v[f * stride + i];
    }
    std::vector<float> upper(static_cast<size_t>(4 * kernels.width)), lower(upper);
    kernels.winograd_output(products.data(), stride, n, 0.5f, upper.data(), lower.data());
    for (int64_t column = 0; column < 2 * n; ++column) {
      for (int64_t y = 0; y < 2; ++y) {
        double want = 0.5;
        for (int64_t tap = 0; tap < 9; ++tap) {
          want += static_cast<double>(g[filter * 9 + tap]) * x[(y + tap / 3) * (2 * n + 2) + column + tap % 3];
        }
        ASSERT_NEAR((y == 0 ? upper : lower)[static_cast<size_t>(column)], want, 1e-5);
      }
    }
  }
}

TEST_P(F32Test, CopyStrided) {
  for (const int64_t stride : {1, 2, 3}) {
    for (int64_t n = 0; n < 3 * kernels.width; ++n) {
      const auto x = numbers(n == 0 ? 1 : (n - 1) * stride + 1);
      std::vector<float> y(static_cast<size_t>(n) + 1, 77.0f);
      kernels.copy_strided(x.data(), stride, n, y.data());
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(y[static_cast<size_t>(i)], x[static_cast<size_t>(i * stride)]);
      EXPECT_EQ(y[static_cast<size_t>(n)], 77.0f);
    }
  }
}

}  // namespace
}  // namespace rushlight::microkernels
