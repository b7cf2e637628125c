// The evaluator of integer expressions over sizes, in postfix order. The relations between integers of a method, and
// the sizes and offsets of a CPU plan, are such expressions. The two kinds have different encodings in their files, but
// the same arithmetic.
#pragma once

#include <cstdint>

namespace rushlight {

// An operation on two integers. Comparisons and logical operations give 1 or 0.
enum class ExpressionOp : uint8_t {
  Add,
  Subtract,
  Multiply,
  FloorDivide,
  Modulo,  // the result has the sign of the divisor, as in Python
  Maximum,
  Minimum,
  Less,
  LessEqual,
  Equal,
  And,
  Or,
};

// Sets *result to `a op b`. Returns false if the result does not fit into 64 bits, or if the divisor is 0.
bool apply(ExpressionOp op, int64_t a, int64_t b, int64_t* result);

// The stack of an expression. The caller has checked that the expression needs at most kDepth numbers and leaves one
// number.
class ExpressionStack {
 public:
  static constexpr uint32_t kDepth = 16;

  void push(int64_t value) { numbers_[depth_++] = value; }
  // Replaces the two top numbers by the result of `op`. Returns false in the same cases as apply() above.
  bool apply(ExpressionOp op) {
    --depth_;
    return rushlight::apply(op, numbers_[depth_ - 1], numbers_[depth_], &numbers_[depth_ - 1]);
  }
  // Replaces the top number by 1 if it is 0, else by 0.
  void negate() { numbers_[depth_ - 1] = numbers_[depth_ - 1] == 0; }
  int64_t top() const { return numbers_[depth_ - 1]; }

 private:
  int64_t numbers_[kDepth];
  uint32_t depth_ = 0;
};

}  // namespace rushlight
