#include "kernels/optimized/elementwise_integer.h"

#include <algorithm>

#include "kernels/optimized/integer_type.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/elementwise_rows.h"
#include "kernels/shared/shape.h"

namespace rushlight::optimized {

using microkernels::BinaryOp;
using microkernels::CompareOp;
using microkernels::IntegerOp;
using microkernels::IntegerType;

namespace {

bool integer_op(BinaryOp op, IntegerOp* range) {
  switch (op) {
    case BinaryOp::Add:
      *range = IntegerOp::Add;
      return true;
    case BinaryOp::Sub:
      *range = IntegerOp::Sub;
      return true;
    case BinaryOp::Mul:
      *range = IntegerOp::Mul;
      return true;
    case BinaryOp::Maximum:
      *range = IntegerOp::Maximum;
      return true;
    case BinaryOp::Minimum:
      *range = IntegerOp::Minimum;
      return true;
    default:
      return false;
  }
}

// A number of an integer type of `size` bytes. On a little-endian machine, the first bytes of `value` are the number.
struct Number {
  int64_t value;
  int64_t size;
};

bool number_of(const Scalar& from, const Tensor& tensor, Number* number) {
  IntegerRange range;
  if (!integer_type_of(tensor.scalar_type(), &range) || from.is_double()) return false;
  *number = {from.to<int64_t>(), static_cast<int64_t>(tensor.element_size())};
  return number->value >= range.min && number->value <= range.max;
}

bool run_binary(KernelRuntimeContext& context, BinaryOp op, ScalarType type, const RowOperand& a, const RowOperand& b,
                const Tensor& out) {
  IntegerRange range;
  IntegerOp operation;
  if (!integer_type_of(type, &range) || !integer_op(op, &operation) || out.scalar_type() != type) return false;
  if (!resize_to_rows(context, out, {&a, &b})) return true;
  const microkernels::IntegerMicrokernels& kernels = microkernels::integer_microkernels();
  return for_element_rows(context, out, {&a, &b}, kElementGrain, [&](const ElementRow& row) {
    kernels.binary(range.type, operation, row.in[0], row.step[0], row.in[1], row.step[1], row.out, row.n);
  });
}

bool run_compare(KernelRuntimeContext& context, CompareOp op, ScalarType type, const RowOperand& a, const RowOperand& b,
                 const Tensor& out) {
  IntegerRange range;
  if (!integer_type_of(type, &range) || out.scalar_type() != ScalarType::Bool) return false;
  if (!resize_to_rows(context, out, {&a, &b})) return true;
  const microkernels::IntegerMicrokernels& kernels = microkernels::integer_microkernels();
  return for_element_rows(context, out, {&a, &b}, kElementGrain, [&](const ElementRow& row) {
    kernels.compare(range.type, op, row.in[0], row.step[0], row.in[1], row.step[1], row.out, row.n);
  });
}

}  // namespace

bool is_integer(const Tensor& tensor) {
  IntegerRange range;
  return integer_type_of(tensor.scalar_type(), &range);
}

bool integer_binary(KernelRuntimeContext& context, BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  return a.scalar_type() == b.scalar_type() &&
         run_binary(context, op, a.scalar_type(), RowOperand(a), RowOperand(b), out);
}
bool integer_binary(KernelRuntimeContext& context, BinaryOp op, const Tensor& a, const Scalar& b, const Tensor& out) {
  Number number;
  return number_of(b, a, &number) &&
         run_binary(context, op, a.scalar_type(), RowOperand(a), RowOperand(&number.value, number.size), out);
}
bool integer_binary(KernelRuntimeContext& context, BinaryOp op, const Scalar& a, const Tensor& b, const Tensor& out) {
  Number number;
  return number_of(a, b, &number) &&
         run_binary(context, op, b.scalar_type(), RowOperand(&number.value, number.size), RowOperand(b), out);
}

bool integer_compare(KernelRuntimeContext& context, CompareOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  return a.scalar_type() == b.scalar_type() &&
         run_compare(context, op, a.scalar_type(), RowOperand(a), RowOperand(b), out);
}
bool integer_compare(KernelRuntimeContext& context, CompareOp op, const Tensor& a, const Scalar& b, const Tensor& out) {
  Number number;
  return number_of(b, a, &number) &&
         run_compare(context, op, a.scalar_type(), RowOperand(a), RowOperand(&number.value, number.size), out);
}

bool integer_abs(KernelRuntimeContext& context, const Tensor& in, const Tensor& out) {
  constexpr int64_t kBlock = 512;
  IntegerRange range;
  if (!integer_type_of(in.scalar_type(), &range) || out.scalar_type() != in.scalar_type()) return false;
  if (!resize_out_like(context, out, in)) return true;
  if (range.min == 0 || !same_layout(in, out)) return false;
  const microkernels::IntegerMicrokernels& kernels = microkernels::integer_microkernels();
  context.parallel_for(0, in.numel(), kElementGrain, [&](int64_t begin, int64_t end) {
    constexpr int64_t kZero = 0;
    alignas(64) uint8_t negative[kBlock * 8];
    for (int64_t i = begin; i < end; i += kBlock) {
      const int64_t n = std::min(kBlock, end - i);
      kernels.binary(range.type, IntegerOp::Sub, &kZero, 0, at(in, i), 1, negative, n);
      kernels.binary(range.type, IntegerOp::Maximum, at(in, i), 1, negative, 1, at(out, i), n);
    }
  });
  return true;
}

bool integer_clamp(KernelRuntimeContext& context, const Tensor& in, const std::optional<Scalar>& min,
                   const std::optional<Scalar>& max, const Tensor& out) {
  IntegerRange range;
  Number low, high;
  if (!integer_type_of(in.scalar_type(), &range) || out.scalar_type() != in.scalar_type()) return false;
  if ((min && !number_of(*min, in, &low)) || (max && !number_of(*max, in, &high))) return false;
  if (!resize_out_like(context, out, in)) return true;
  if (!same_layout(in, out)) return false;
  const microkernels::IntegerMicrokernels& kernels = microkernels::integer_microkernels();
  context.parallel_for(0, in.numel(), kElementGrain, [&](int64_t begin, int64_t end) {
    kernels.clamp(range.type, at(in, begin), at(out, begin), end - begin, min ? low.value : range.min,
                  max ? high.value : range.max);
  });
  return true;
}

bool select_elements(KernelRuntimeContext& context, const Tensor& condition, const Tensor& a, const Tensor& b,
                     const Tensor& out) {
  const auto size = static_cast<int64_t>(out.element_size());
  if (condition.scalar_type() != ScalarType::Bool || a.scalar_type() != out.scalar_type() ||
      b.scalar_type() != out.scalar_type() || size > 8) {
    return false;
  }
  const RowOperand true_values(a), false_values(b), mask(condition);
  if (!resize_to_rows(context, out, {&true_values, &false_values, &mask})) return true;
  const microkernels::IntegerMicrokernels& kernels = microkernels::integer_microkernels();
  return for_element_rows(
      context, out, {&true_values, &false_values, &mask}, kElementGrain, [&](const ElementRow& row) {
        kernels.select(size, row.in[2], row.step[2], row.in[0], row.step[0], row.in[1], row.step[1], row.out, row.n);
      });
}

}  // namespace rushlight::optimized
