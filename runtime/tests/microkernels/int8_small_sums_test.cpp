#include "microkernels/gemm/int8_small_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "microkernels/gemm/int8.h"

namespace rushlight::microkernels {

namespace {

uint8_t* aligned(std::vector<uint8_t>& storage, size_t bytes) {
  storage.resize(bytes + 64);
  return reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(storage.data()) + 63) / 64 * 64);
}

const Int8Microkernels* set_for(SmallSums sums) {
  const Int8Microkernels* const base = int8_microkernels_named("avx2");
  return base ? small_sum_microkernels(*base, sums) : nullptr;
}

// Returns the kind of sums for `n` columns that are zero except for column `column`.
SmallSums sums_of(const Int8Microkernels& set, int64_t n, int64_t column, const std::vector<int8_t>& numbers) {
  const int64_t k = static_cast<int64_t>(numbers.size());
  std::vector<int8_t> columns(static_cast<size_t>(n * k));
  std::copy(numbers.begin(), numbers.end(), columns.begin() + column * k);
  std::vector<uint8_t> storage;
  uint8_t* const packed = aligned(storage, packed_rhs_size(set, n, k));
  pack_rhs(set, columns.data(), k, n, k, packed);
  return small_sums(set, packed, n, k);
}

TEST(Int8SmallSums, AreWhatIsNoMoreThanTheLimit) {
  const Int8Microkernels* const set = set_for(SmallSums::Pairs);
  if (set == nullptr) GTEST_SKIP() << "no set of tiles for small sums here";
  for (const int64_t column : {0, 15, 16, 20}) {
    EXPECT_EQ(sums_of(*set, 21, column, {64, 64, 0, 0, 0, 0, -64, -64}), SmallSums::Quads);
    EXPECT_EQ(sums_of(*set, 21, column, {32, 32, 127, 1, 32, 32, -127, -1, 127}), SmallSums::Quads);
    EXPECT_EQ(sums_of(*set, 21, column, {127, -128, 0, 0, 1, 0, 0, 0}), SmallSums::Quads);
    EXPECT_EQ(sums_of(*set, 21, column, {64, 64, 0, 0, 1, 0, 0, 0}), SmallSums::Pairs);
    EXPECT_EQ(sums_of(*set, 21, column, {0, 0, -64, -64, 0, 0, 7, -1}), SmallSums::Pairs);
    EXPECT_EQ(sums_of(*set, 21, column, {0, 0, 64, 65}), SmallSums::None);
    EXPECT_EQ(sums_of(*set, 21, column, {0, 0, 0, 0, -128, -1}), SmallSums::None);
  }
}

// Returns random numbers within the limit, many of them equal to it.
std::vector<int8_t> columns_of(SmallSums sums, int64_t n, int64_t k, std::mt19937& random) {
  std::vector<int8_t> columns(static_cast<size_t>(n * k));
  for (int64_t j = 0; j < n; ++j) {
    int8_t* const column = columns.data() + j * k;
    for (int64_t l = 0; l < k; ++l) {
      int least = -128, most = 127;
      for (const int64_t other : {l - l % 2, l - l % 2 - 4, l - 3 - l % 2}) {
        if (other < 0 || other >= l || (sums == SmallSums::Pairs && other / 4 != l / 4) || other / 8 != l / 8) continue;
        least -= std::min<int>(column[other], 0), most -= std::max<int>(column[other], 0);
      }
      most = std::min(127, most + 1);
      const int number = random() % 2 ? static_cast<int8_t>(random()) : random() % 2 ? most : least;
      column[l] = static_cast<int8_t>(std::clamp(number, std::min(least, 0), std::max(most, 0)));
    }
  }
  return columns;
}

TEST(Int8SmallSums, ProductsAreExactAtTheEnds) {
  for (const SmallSums sums : {SmallSums::Pairs, SmallSums::Quads}) {
    const Int8Microkernels* const set = set_for(sums);
    if (set == nullptr) GTEST_SKIP() << "no set of tiles for small sums here";
    std::mt19937 random{3};
    for (const int64_t k : {1, 6, 21, 64, 131}) {
      const int64_t m = 23, n = 37;
      std::vector<int8_t> rows(static_cast<size_t>(m * k));
      std::generate(rows.begin(), rows.end(),
                    [&] { return random() % 2 ? int8_t{127} : static_cast<int8_t>(random()); });
      const std::vector<int8_t> columns = columns_of(sums, n, k, random);
      std::vector<uint8_t> packed_storage, scratch_storage;
      uint8_t* const packed = aligned(packed_storage, packed_rhs_size(*set, n, k));
      pack_rhs(*set, columns.data(), k, n, k, packed);
      ASSERT_GE(small_sums(*set, packed, n, k), sums);
      std::vector<int32_t> products(static_cast<size_t>(m * n));
      Int8Gemm p{};
      p.m = m, p.n = n, p.k = k;
      p.lhs = reinterpret_cast<const uint8_t*>(rows.data());
      p.lhs_stride = k;
      p.rhs = packed;
      p.out_kind = Int8Gemm::Out::Int32;
      p.out = products.data();
      p.out_stride = n;
      multiply(*set, p, 0, m, 0, n, aligned(scratch_storage, gemm_scratch(*set, k)));
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          int32_t expected = 0;
          for (int64_t l = 0; l < k; ++l) {
            expected +=
                (rows[static_cast<size_t>(i * k + l)] + set->lhs_offset) * columns[static_cast<size_t>(j * k + l)];
          }
          ASSERT_EQ(products[static_cast<size_t>(i * n + j)], expected) << k << ' ' << i << ' ' << j;
        }
      }
    }
  }
}

}  // namespace

}  // namespace rushlight::microkernels
