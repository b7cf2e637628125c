#include "kernels/shared/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace rushlight {
namespace {

uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

// Numbers of every exponent and both signs, with significands near rounding ties, and infinities and NaN.
std::vector<float> all_kinds() {
  std::vector<float> values;
  for (uint32_t exponent = 0; exponent < 256; ++exponent) {
    for (const uint32_t significand : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x2fffu, 0x3000u, 0x3001u, 0x7fffu, 0x8000u,
                                       0x8001u, 0x18000u, 0x7fe000u, 0x7fefffu, 0x7ff000u, 0x7fffffu}) {
      for (const uint32_t sign : {0u, 1u}) {
        const uint32_t bits = sign << 31 | exponent << 23 | significand;
        float value;
        std::memcpy(&value, &bits, sizeof(value));
        values.push_back(value);
      }
    }
  }
  values.push_back(1.0f);
  return values;
}

template <typename T, typename Widen, typename Narrow, typename Round>
void expect_as_one_by_one(Widen widen, Narrow narrow, Round round) {
  std::vector<T> every(1 << 16);
  for (size_t i = 0; i < every.size(); ++i) every[i].bits = static_cast<uint16_t>(i);
  for (const size_t n : {every.size(), every.size() - 5}) {
    std::vector<float> wide(every.size(), 77.0f);
    widen(every.data(), wide.data(), static_cast<int64_t>(n));
    for (size_t i = 0; i < every.size(); ++i) {
      const float want = i < n ? static_cast<float>(every[i]) : 77.0f;
      if (want != want) {
        ASSERT_NE(wide[i], wide[i]);
      } else {
        ASSERT_EQ(bits_of(wide[i]), bits_of(want)) << i;
      }
    }
  }
  std::vector<float> values = all_kinds();
  std::vector<T> narrowed(values.size());
  narrow(values.data(), narrowed.data(), static_cast<int64_t>(values.size()));
  std::vector<float> rounded = values;
  round(rounded.data(), static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    const T want(values[i]);
    if (values[i] != values[i]) {
      ASSERT_NE(static_cast<float>(narrowed[i]), static_cast<float>(narrowed[i]));
      ASSERT_NE(rounded[i], rounded[i]);
    } else {
      ASSERT_EQ(narrowed[i].bits, want.bits) << values[i];
      ASSERT_EQ(bits_of(rounded[i]), bits_of(static_cast<float>(want))) << values[i];
    }
  }
}

TEST(F16Test, RunsAreConvertedAsSingleNumbersAre) { expect_as_one_by_one<Half>(widen_half, narrow_half, round_half); }

TEST(F16Test, RunsOfBFloat16AreConvertedAsSingleNumbersAre) {
  expect_as_one_by_one<BFloat16>(widen_bfloat16, narrow_bfloat16, round_bfloat16);
}

}  // namespace
}  // namespace rushlight
