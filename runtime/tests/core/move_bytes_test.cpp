#include "core/move_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rushlight {
namespace {

constexpr size_t kPage = 4096;

TEST(MoveBytes, MovesAcrossEveryDistance) {
  std::vector<uint8_t> before(8 * kPage);
  for (size_t i = 0; i < before.size(); ++i) before[i] = static_cast<uint8_t>(i * 7 + i / 256);
  for (const size_t n : {size_t{0}, size_t{100}, size_t{2048}, size_t{4083}, 2 * kPage + 5}) {
    for (const size_t from : {size_t{0}, size_t{1}, 3 * kPage}) {
      for (const size_t ahead : {0, 1, 12, 63, 64, 4095}) {
        for (const size_t page : {size_t{0}, kPage, 4 * kPage}) {
          const size_t to = page + ahead;
          std::vector<uint8_t> bytes = before;
          move_bytes(bytes.data() + to, bytes.data() + from, n);
          std::vector<uint8_t> expected = before;
          std::copy_n(before.begin() + static_cast<std::ptrdiff_t>(from), n,
                      expected.begin() + static_cast<std::ptrdiff_t>(to));
          ASSERT_EQ(bytes, expected) << n << " bytes from " << from << " to " << to;
        }
      }
    }
  }
}

}  // namespace
}  // namespace rushlight
