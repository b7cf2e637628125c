// The evaluator of integer expressions over sizes, in postfix order. Relations between the integers of a method and the
// sizes and offsets of a CPU plan are such expressions; each has an encoding of its own in its file, and this
// arithmetic.
#pragma once

#include <cstdint>

namespace rushlight {

// An operation that takes two integers. Comparisons and logical operations give 1 or 0.
enum class ExpressionOp : uint8_t {
  Add,
  Subtract,
  Multiply,
  FloorDivide,
  Modulo,  // the sign is the divisor's, as in Python
  Maximum,
  Minimum,
  Less,
  LessEqual,
  Equal,
  And,
  Or,
};

// Sets *result to `a op b`. False if the result has no place in 64 bits, or the divisor is 0.
bool apply(ExpressionOp op, int64_t a, int64_t b, int64_t* result);

// The stack of an expression that was checked to need at most kDepth numbers and to leave one.
class ExpressionStack {
 public:
  static constexpr uint32_t kDepth = 16;

  void push(int64_t value) { numbers_[depth_++] = value; }
  // Replaces the two upper numbers by the result of `op`; false as apply().
  bool apply(ExpressionOp op) {
    --depth_;
    return rushlight::apply(op, numbers_[depth_ - 1], numbers_[depth_], &numbers_[depth_ - 1]);
  }
  // Replaces the upper number by 1 if it is 0, else by 0.
  void negate() { numbers_[depth_ - 1] = numbers_[depth_ - 1] == 0; }
  int64_t top() const { return numbers_[depth_ - 1]; }

 private:
  int64_t numbers_[kDepth];
  uint32_t depth_ = 0;
};

}  // namespace rushlight
