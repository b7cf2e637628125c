#include <cstring>

#include "tests/microkernels/int8_fixture.h"

namespace rushlight::microkernels {
namespace {

class Int8GemmTest : public Int8Fixture {
 protected:
  // The parameters that convert sums to results.
  struct Results {
    std::vector<float> multiplier, offset;  // by column
    std::vector<int32_t> bias;
    std::vector<float> scales;  // by row
    std::vector<int32_t> zeros;

    void give(Int8Gemm& p) const {
      p.zeros = zeros.data(), p.scales = scales.data(), p.row_step = 1;
      p.multiplier = multiplier.data(), p.offset = offset.data(), p.least = -1e30f, p.most = 40.0f;
    }
    Requantize requantize(const std::vector<int32_t>& correction) const {
      return {correction.data(), multiplier.data(), offset.data(), 3, 0, 255};
    }
  };

  Results results(int64_t m, int64_t n) {
    Results r{reals(n, 1e-4f, 1e-3f), reals(n, -3, 3), std::vector<int32_t>(static_cast<size_t>(n)),
              reals(m, 0.1f, 0.2f), std::vector<int32_t>(static_cast<size_t>(m))};
    for (size_t j = 0; j < r.bias.size(); ++j) r.bias[j] = static_cast<int32_t>(j * 100);
    for (size_t i = 0; i < r.zeros.size(); ++i) r.zeros[i] = static_cast<int32_t>(i) - 17;
    return r;
  }

  std::vector<int32_t> corrections(Buffer& packed, int32_t zero, const std::vector<int32_t>& bias) {
    std::vector<int32_t> result(bias.size());
    zero_corrections(kernels, packed.data(), static_cast<int64_t>(bias.size()), zero, bias.data(), result.data());
    return result;
  }
};

INSTANTIATE_TEST_SUITE_P(Sets, Int8GemmTest, testing::ValuesIn(all_int8_sets()), int8_set_name);

TEST_P(Int8GemmTest, ProductsToBytesFloatsAndSums) {
  if (is_slow()) GTEST_SKIP() << "this processor has no vpdpbusd";
  for (const int64_t k : {1, 30, 147, 320, 1203, 6000}) {
    for (const int64_t m : {1, 5, 37, 98}) {
      const int64_t n = 2 * column_step(kernels) + 5;
      const auto lhs = numbers(m * k), rhs = numbers(n * k);
      std::vector<uint8_t> as_unsigned;
      for (const int8_t x : lhs) as_unsigned.push_back(static_cast<uint8_t>(x ^ 0x80));
      Buffer packed(packed_rhs_size(kernels, n, k)), scratch(gemm_scratch(kernels, k));
      pack_rhs(kernels, rhs.data(), k, n, k, packed.data());
      const Results to = results(m, n);
      Int8Gemm p{};
      p.m = m, p.n = n, p.k = k, p.lhs = as_unsigned.data(), p.lhs_stride = k, p.sign_mask = 0x80;
      p.rhs = packed.data(), p.out_stride = n + 1;
      to.give(p);
      const auto correction = corrections(packed, -9, to.bias);
      p.requantize = to.requantize(correction);
      const auto size = static_cast<size_t>(m * (n + 1));
      std::vector<uint8_t> bytes(size, 77);
      std::vector<float> floats(size, 77.0f);
      std::vector<int32_t> sums(size, 77);
      const int64_t middle = column_step(kernels);
      for (const auto kind : {Int8Gemm::Out::Quantized, Int8Gemm::Out::Float32, Int8Gemm::Out::Int32}) {
        p.out_kind = kind;
        if (kind == Int8Gemm::Out::Quantized) p.out = bytes.data();
        if (kind == Int8Gemm::Out::Float32) p.out = floats.data();
        if (kind == Int8Gemm::Out::Int32) p.out = sums.data();
        multiply(kernels, p, 0, m / 2, 0, n, scratch.data());
        multiply(kernels, p, m / 2, m, 0, middle, scratch.data());
        multiply(kernels, p, m / 2, m, middle, n, scratch.data());
      }
      for (int64_t i = 0; i < m; ++i) {
        const auto row = static_cast<size_t>(i * (n + 1));
        EXPECT_TRUE(bytes[row + n] == 77 && floats[row + n] == 77 && sums[row + n] == 77);
        for (int64_t j = 0; j < n; ++j) {
          ASSERT_EQ(sums[row + j], exact(lhs, rhs, k, i, j, -kernels.lhs_offset)) << "k " << k;
          const double sum = exact(lhs, rhs, k, i, j, -9) + to.bias[j];
          const double x = static_cast<float>(static_cast<float>(sum) * to.multiplier[j]) + to.offset[j];
          ASSERT_NEAR(bytes[row + j], rounded(x, p.requantize), std::fabs(x - std::nearbyint(x)) > 0.499 ? 1 : 0);
          const double real =
              exact(lhs, rhs, k, i, j, to.zeros[i]) * double(to.scales[i]) * to.multiplier[j] + to.offset[j];
          ASSERT_NEAR(floats[row + j], std::min(real, 40.0), 1e-5 * std::fabs(real) + 1e-5);
        }
      }
    }
  }
}

TEST_P(Int8GemmTest, FinishesEveryElementOnceItIsThere) {
  const int64_t m = 37, k = 30, n = 2 * column_step(kernels) + 5;
  const auto lhs = numbers(m * k), rhs = numbers(n * k);
  Buffer packed(packed_rhs_size(kernels, n, k)), scratch(gemm_scratch(kernels, k));
  pack_rhs(kernels, rhs.data(), k, n, k, packed.data());
  const auto multiplier = reals(n, 1e-4f, 1e-3f);
  const int32_t zero = 3;
  const float scale = 2.0f;
  Int8Gemm p{};
  p.m = m, p.n = n, p.k = k, p.lhs = reinterpret_cast<const uint8_t*>(lhs.data()), p.lhs_stride = k;
  p.rhs = packed.data(), p.ahead = rhs.data(), p.ahead_bytes = n * k;
  p.out_kind = Int8Gemm::Out::Float32, p.out_stride = n;
  p.zeros = &zero, p.scales = &scale, p.multiplier = multiplier.data(), p.least = -1e30f, p.most = 1e30f;
  std::vector<float> want(static_cast<size_t>(m * n)), got(want);
  p.out = want.data();
  multiply(kernels, p, 0, m, 0, n, scratch.data());
  for (float& x : want) x += 1.0f;
  p.out = got.data();
  p.finish_context = &p;
  p.finish = [](const void* context, int64_t row, int64_t rows, int64_t column, int64_t columns) {
    const Int8Gemm& gemm = *static_cast<const Int8Gemm*>(context);
    float* const to = static_cast<float*>(gemm.out) + row * gemm.out_stride + column;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) to[i * gemm.out_stride + j] += 1.0f;
    }
  };
  multiply(kernels, p, 0, m / 2, 0, n, scratch.data());
  multiply(kernels, p, m / 2, m, 0, column_step(kernels), scratch.data());
  multiply(kernels, p, m / 2, m, column_step(kernels), n, scratch.data());
  EXPECT_EQ(want, got);
}

struct Reversed {
  const Int8Microkernels& kernels;
  const std::vector<int8_t>& lhs;
  int64_t m, k;
};

TEST_P(Int8GemmTest, RowsThatACallerGathers) {
  const int64_t m = 19, k = 21, n = 9;
  const auto lhs = numbers(m * k), rhs = numbers(n * k);
  Buffer packed(packed_rhs_size(kernels, n, k)), scratch(gemm_scratch(kernels, k));
  pack_rhs(kernels, rhs.data(), k, n, k, packed.data());
  const Reversed reversed{kernels, lhs, m, k};
  std::vector<int32_t> sums(static_cast<size_t>(m * n));
  Int8Gemm p{};
  p.m = m, p.n = n, p.k = k, p.rhs = packed.data();
  p.context = &reversed;
  p.gather = [](const void* context, int64_t row, void* to) {
    const Reversed& r = *static_cast<const Reversed*>(context);
    r.kernels.pack_lhs(reinterpret_cast<const uint8_t*>(r.lhs.data()) + (r.m - 1 - row) * r.k, 0, r.k, to);
  };
  p.out_kind = Int8Gemm::Out::Int32, p.out = sums.data(), p.out_stride = n;
  multiply(kernels, p, 0, m, 0, n, scratch.data());
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      ASSERT_EQ(sums[i * n + j], exact(lhs, rhs, k, m - 1 - i, j, -kernels.lhs_offset));
    }
  }
}

TEST_P(Int8GemmTest, ColumnsAsTheyLieGiveWhatPackedOnesGive) {
  if (is_slow()) GTEST_SKIP() << "this processor has no vpdpbusd";
  for (const int64_t k : {1, 17, 64, 1203, 50000}) {
    for (const int64_t m : {1, 3, 70}) {
      const int64_t n = 21, stride = k + 3;
      const auto lhs = numbers(m * k), rhs = numbers(n * stride);
      Buffer packed(packed_rhs_size(kernels, n, k)), scratch(gemm_scratch(kernels, k));
      pack_rhs(kernels, rhs.data(), stride, n, k, packed.data());
      const Results to = results(m, n);
      const auto correction = corrections(packed, to.zeros[0], to.bias);
      Int8Gemm p{};
      p.m = m, p.n = n, p.k = k, p.lhs = reinterpret_cast<const uint8_t*>(lhs.data()), p.lhs_stride = k;
      to.give(p);
      p.out_stride = n;
      for (const auto kind : {Int8Gemm::Out::Quantized, Int8Gemm::Out::Float32, Int8Gemm::Out::Int32}) {
        const auto size = static_cast<size_t>(m * n * (kind == Int8Gemm::Out::Quantized ? 1 : 4));
        std::vector<uint8_t> want(size), got(size);
        p.out_kind = kind;
        p.rhs = packed.data(), p.out = want.data();
        p.requantize = to.requantize(correction);
        multiply(kernels, p, 0, m, 0, n, scratch.data());
        p.rhs = nullptr, p.columns = rhs.data(), p.column_stride = stride, p.out = got.data();
        p.requantize.correction = to.bias.data();
        multiply(kernels, p, 0, m, 0, 16, scratch.data());
        multiply(kernels, p, 0, m, 16, n, scratch.data());
        ASSERT_EQ(want, got) << "m " << m << " k " << k;
      }
    }
  }
}

}  // namespace
}  // namespace rushlight::microkernels
