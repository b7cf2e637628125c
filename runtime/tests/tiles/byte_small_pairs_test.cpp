#include "kernels/optimized/tiles/byte_small_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "kernels/optimized/tiles/byte_product.h"

namespace rushlight::tiles {

namespace {

uint8_t* aligned(std::vector<uint8_t>& storage, size_t bytes) {
  storage.resize(bytes + 64);
  return reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(storage.data()) + 63) / 64 * 64);
}

TEST(ByteSmallPairs, AreWhatSumsUpToNoMoreThanTheLimit) {
  const int8_t fits[] = {127, 1, -127, -1, 127, -128, 64, 64, -64, -64};
  EXPECT_TRUE(has_small_pairs(fits, 10));
  const int8_t large[] = {0, 0, 64, 65}, small[] = {-128, -1};
  EXPECT_FALSE(has_small_pairs(large, 4));
  EXPECT_FALSE(has_small_pairs(small, 2));
}

TEST(ByteSmallPairs, ProductsAreExactAtTheEnds) {
  const ByteTiles* const base = byte_tiles_named("avx2");
  const ByteTiles* const set = base ? small_pair_tiles(*base) : nullptr;
  if (set == nullptr) GTEST_SKIP() << "no set of tiles for small pairs here";
  std::mt19937 random{3};
  for (const int64_t k : {1, 6, 64, 131}) {
    const int64_t m = 23, n = 37;
    std::vector<int8_t> columns(static_cast<size_t>(n * k)), rows(static_cast<size_t>(m * k));
    const auto number = [&] { return static_cast<int8_t>(random()); };
    std::generate(rows.begin(), rows.end(), [&] { return random() % 2 ? int8_t{127} : number(); });
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t l = 0; l < k; ++l) {
        int value = number();
        if (l % 2 == 1)
          value = std::clamp(value, -kMostPair - columns[j * k + l - 1], kMostPair - columns[j * k + l - 1]);
        columns[static_cast<size_t>(j * k + l)] = static_cast<int8_t>(std::clamp(value, -128, 127));
      }
    }
    std::vector<uint8_t> packed_storage, scratch_storage;
    uint8_t* const packed = aligned(packed_storage, packed_right_size(*set, n, k));
    pack_right(*set, columns.data(), k, n, k, packed);
    std::vector<int32_t> sums(static_cast<size_t>(m * n));
    ByteProduct p{};
    p.m = m, p.n = n, p.k = k;
    p.left = reinterpret_cast<const uint8_t*>(rows.data());
    p.left_stride = k;
    p.right = packed;
    p.out_kind = ByteProduct::Out::Sums;
    p.out = sums.data();
    p.out_stride = n;
    multiply(*set, p, 0, m, 0, n, aligned(scratch_storage, product_scratch(*set, k)));
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        int32_t expected = 0;
        for (int64_t l = 0; l < k; ++l) {
          expected +=
              (rows[static_cast<size_t>(i * k + l)] + set->left_offset) * columns[static_cast<size_t>(j * k + l)];
        }
        ASSERT_EQ(sums[static_cast<size_t>(i * n + j)], expected) << k << ' ' << i << ' ' << j;
      }
    }
  }
}

}  // namespace

}  // namespace rushlight::tiles
