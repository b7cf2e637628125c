#include "exec/join_texts.h"

#include <gtest/gtest.h>

namespace rushlight {
namespace {

TEST(JoinTexts, WritesTextsOneAfterTheOther) {
  char text[16];
  EXPECT_EQ(join_texts(text, sizeof(text), {"aten::add", ".", "out"}), 13u);
  EXPECT_STREQ(text, "aten::add.out");
  EXPECT_EQ(join_texts(text, sizeof(text), {"", ""}), 0u);
  EXPECT_STREQ(text, "");
}

TEST(JoinTexts, CutsWhatDoesNotFit) {
  char text[6];
  EXPECT_EQ(join_texts(text, sizeof(text), {"abc", "def", "ghi"}), 9u);
  EXPECT_STREQ(text, "abcde");
}

}  // namespace
}  // namespace rushlight
