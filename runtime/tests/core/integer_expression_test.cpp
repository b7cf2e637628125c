#include "core/integer_expression.h"

#include <gtest/gtest.h>

namespace rushlight {
namespace {

TEST(IntegerExpression, DivisionRoundsDownAndTheRestHasTheDivisorsSign) {
  const int64_t cases[][4] = {{7, 2, 3, 1}, {-7, 2, -4, 1}, {7, -2, -4, -1}, {-7, -2, 3, -1}, {6, -3, -2, 0}};
  for (const auto& [a, b, quotient, rest] : cases) {
    int64_t result = 0;
    ASSERT_TRUE(apply(ExpressionOp::FloorDivide, a, b, &result));
    EXPECT_EQ(result, quotient) << a << " / " << b;
    ASSERT_TRUE(apply(ExpressionOp::Modulo, a, b, &result));
    EXPECT_EQ(result, rest) << a << " % " << b;
  }
}

TEST(IntegerExpression, RefusesWhatHasNoResult) {
  int64_t result = 0;
  EXPECT_FALSE(apply(ExpressionOp::Add, INT64_MAX, 1, &result));
  EXPECT_FALSE(apply(ExpressionOp::Subtract, INT64_MIN, 1, &result));
  EXPECT_FALSE(apply(ExpressionOp::Multiply, int64_t{1} << 62, 2, &result));
  for (const ExpressionOp op : {ExpressionOp::FloorDivide, ExpressionOp::Modulo}) {
    EXPECT_FALSE(apply(op, 1, 0, &result));
    EXPECT_FALSE(apply(op, INT64_MIN, -1, &result));
  }
}

// (5 - 3) <= max(1, 2) and not 0
TEST(IntegerExpression, StackEvaluatesInPostfixOrder) {
  ExpressionStack stack;
  stack.push(5), stack.push(3);
  ASSERT_TRUE(stack.apply(ExpressionOp::Subtract));
  stack.push(1), stack.push(2);
  ASSERT_TRUE(stack.apply(ExpressionOp::Maximum));
  ASSERT_TRUE(stack.apply(ExpressionOp::LessEqual));
  stack.push(0);
  stack.negate();
  ASSERT_TRUE(stack.apply(ExpressionOp::And));
  EXPECT_EQ(stack.top(), 1);
}

}  // namespace
}  // namespace rushlight
