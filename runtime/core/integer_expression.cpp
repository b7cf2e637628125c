#include "core/integer_expression.h"

#include <algorithm>

namespace rushlight {

namespace {

int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

}  // namespace

bool apply(ExpressionOp op, int64_t a, int64_t b, int64_t* result) {
  switch (op) {
    case ExpressionOp::Add:
      return !__builtin_add_overflow(a, b, result);
    case ExpressionOp::Subtract:
      return !__builtin_sub_overflow(a, b, result);
    case ExpressionOp::Multiply:
      return !__builtin_mul_overflow(a, b, result);
    case ExpressionOp::FloorDivide:
    case ExpressionOp::Modulo:
      if (b == 0 || (a == INT64_MIN && b == -1)) return false;
      *result = op == ExpressionOp::FloorDivide ? floor_divide(a, b) : a - floor_divide(a, b) * b;
      return true;
    case ExpressionOp::Maximum:
      *result = std::max(a, b);
      return true;
    case ExpressionOp::Minimum:
      *result = std::min(a, b);
      return true;
    case ExpressionOp::Less:
      *result = a < b;
      return true;
    case ExpressionOp::LessEqual:
      *result = a <= b;
      return true;
    case ExpressionOp::Equal:
      *result = a == b;
      return true;
    case ExpressionOp::And:
      *result = a != 0 && b != 0;
      return true;
    case ExpressionOp::Or:
      *result = a != 0 || b != 0;
      return true;
  }
  return false;
}

}  // namespace rushlight
