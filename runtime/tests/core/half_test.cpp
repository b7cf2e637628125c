#include "rushlight/core/half.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rushlight {
namespace {

TEST(Half, EveryValueSurvivesTheWayToFloatAndBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = detail::half_to_float(half);
    const bool is_nan = (half & 0x7c00) == 0x7c00 && (half & 0x3ff) != 0;
    EXPECT_EQ(std::isnan(value), is_nan);
    if (is_nan) continue;
    EXPECT_EQ(detail::float_to_half(value), half);
  }
}

TEST(Half, RoundsToNearestTiesToEven) {
  EXPECT_EQ(detail::float_to_half(1.0f + 0x1p-11f), 0x3c00) << "a tie goes to the even neighbour below";
  EXPECT_EQ(detail::float_to_half(1.0f + 0x1p-10f + 0x1p-11f), 0x3c02) << "and to the even one above";
  EXPECT_EQ(detail::float_to_half(1.0f + 0x1.8p-11f), 0x3c01);
  EXPECT_EQ(detail::float_to_half(65519.0f), 0x7bff);
  EXPECT_EQ(detail::float_to_half(65520.0f), 0x7c00) << "beyond the largest half";
  EXPECT_EQ(detail::float_to_half(0x1p-25f), 0) << "half of the smallest is a tie with zero";
  EXPECT_EQ(detail::float_to_half(0x1.8p-25f), 1);
  EXPECT_EQ(detail::float_to_half(-0.0f), 0x8000);
}

TEST(BFloat16, RoundsToNearestTiesToEven) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto value = static_cast<uint16_t>(bits);
    const float wide = detail::bfloat16_to_float(value);
    if (std::isnan(wide)) continue;
    EXPECT_EQ(detail::float_to_bfloat16(wide), value);
  }
  EXPECT_EQ(detail::float_to_bfloat16(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(detail::float_to_bfloat16(1.0f + 0x1.8p-7f), 0x3f82);
  EXPECT_TRUE(std::isnan(detail::bfloat16_to_float(detail::float_to_bfloat16(std::nanf("")))));
}

}  // namespace
}  // namespace rushlight
