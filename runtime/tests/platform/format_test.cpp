#include "platform/format.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace rushlight {
namespace {

// Checks that this library and the C library give the same text.
#define EXPECT_SAME(...)                                                       \
  do {                                                                         \
    char own[128], expected[128];                                              \
    const int own_length = format_text(own, sizeof(own), __VA_ARGS__);         \
    const int length = std::snprintf(expected, sizeof(expected), __VA_ARGS__); \
    EXPECT_STREQ(own, expected);                                               \
    EXPECT_EQ(own_length, length);                                             \
  } while (0)

TEST(Format, WritesIntegersAsTheCLibraryDoes) {
  EXPECT_SAME("%d %d %i", 0, -17, 2147483647);
  EXPECT_SAME("%u %x", 4294967295u, 48879u);
  EXPECT_SAME("%lld %lld", -9223372036854775807ll - 1, 9223372036854775807ll);
  EXPECT_SAME("%llu %zu %ld", 18446744073709551615ull, size_t{123456}, -5l);
  EXPECT_SAME("%016llx|%04d|%5d", 0xbeefull, 42, 7);
  EXPECT_SAME("%-5d|%+d|% d|%05d|%+05d|", 7, 7, 7, -7, 7);
  EXPECT_SAME("%hhd %hu %jd %td %X", static_cast<signed char>(-3), static_cast<unsigned short>(4), intmax_t{-5},
              ptrdiff_t{6}, 7u);
  EXPECT_SAME("%.0lld|%.0d|%.3d|%.5x|%6.3d|%-6.2d|", 0ll, 4, -7, 0xabu, 42, 5);
  EXPECT_SAME("%p", static_cast<const void*>("text"));
}

TEST(Format, WritesTextsAsTheCLibraryDoes) {
  EXPECT_SAME("%s, %.3s, %.*s and %c%%", "alpha", "betagamma", 2, "delta", '!');
  EXPECT_SAME("nothing to convert");
  EXPECT_SAME("%s", "");
  EXPECT_SAME("%-6s|%6s|", "left", "right");
}

TEST(Format, WritesControlCharactersAsQuestionMarks) {
  char text[64];
  EXPECT_EQ(format_text(text, sizeof(text), "name '%s'\n%c", "a\nb\x1b[2Jc\x7f\xc3\xa4", '\r'), 20);
  EXPECT_STREQ(text, "name 'a?b?[2Jc?\xc3\xa4'\n?");
}

TEST(Format, WritesNumbersAsTheCLibraryDoes) {
  for (const double number :
       {0.0, -0.0, 1.0, -1.5, 0.1, 1e-5, 1e-4, 123456.0, 1234567.0, 999999.5, 0.000123456, 3.14159265, 1e100, -2.5e-300,
        DBL_MAX, 65504.0, 1e22, 9.99999e-5, static_cast<double>(FLT_MIN)}) {
    EXPECT_SAME("%g", number);
  }
  EXPECT_SAME("%g %g", static_cast<double>(INFINITY), -static_cast<double>(INFINITY));
  EXPECT_SAME("%.4g and %.1g", 0.123456, 27.0);
  EXPECT_SAME("%f %.2f %.0f %8.3f|%-8.1f|%+.1f|%08.2f", 3.14159265, -2.718, 1e9, 0.0626, 12.34, 5.0, -1.5);
  EXPECT_SAME("%f and %f", 0.0, static_cast<double>(INFINITY));
}

TEST(Format, CopiesTheRestAfterAnUnknownConversion) {
  const std::string format = "%d %y %s";  // a variable, so that the compiler does not check it
  char text[32];
  EXPECT_GT(format_text(text, sizeof(text), format.c_str(), 1, "not read"), 0);
  EXPECT_STREQ(text, "1 %y %s");
}

TEST(Format, CutsWhatDoesNotFit) {
  char text[6];
  EXPECT_EQ(format_text(text, sizeof(text), "%s-%d", "abc", 1234), 8);
  EXPECT_STREQ(text, "abc-1");
}

}  // namespace
}  // namespace rushlight
