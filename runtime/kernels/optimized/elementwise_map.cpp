#include "kernels/optimized/elementwise_map.h"

#include <algorithm>

#include "kernels/optimized/elementwise_bits.h"
#include "kernels/optimized/elementwise_f16.h"
#include "kernels/optimized/elementwise_integer.h"
#include "kernels/optimized/layout.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/element.h"
#include "kernels/shared/elementwise_rows.h"
#include "kernels/shared/promotion.h"
#include "kernels/shared/shape.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::optimized {

using microkernels::BinaryOp;
using microkernels::CompareOp;
using microkernels::UnaryOp;

namespace {

// With fewer elements than this, a second thread makes a kernel slower.
constexpr int64_t kGrain = 16 * 1024;
constexpr int64_t kCostlyGrain = 2 * 1024;

// Reads the only element of a tensor that is not float32 but is an operand of float32 arithmetic.
bool read_number(const Tensor& tensor, float* number) {
  if (tensor.numel() != 1) return false;
  switch (tensor.scalar_type()) {
    case ScalarType::Double:
      *number = static_cast<float>(*tensor.const_data_ptr<double>());
      return true;
    case ScalarType::Long:
      *number = static_cast<float>(*tensor.const_data_ptr<int64_t>());
      return true;
    case ScalarType::Int:
      *number = static_cast<float>(*tensor.const_data_ptr<int32_t>());
      return true;
    case ScalarType::Bool:
      *number = element(tensor.const_data_ptr<bool>()) ? 1.0f : 0.0f;
      return true;
    default:
      return false;
  }
}

// A float32 tensor, or a number instead of a tensor.
struct Operand {
  const Tensor* tensor = nullptr;  // null for a number
  float number = 0;
  const Tensor* shape = nullptr;  // the tensor whose shape is broadcast; null if there is none
  bool ok = true;

  explicit Operand(float value) : number(value) {}
  explicit Operand(const Tensor& from) : shape(&from) {
    if (is_float(from)) {
      tensor = &from;
    } else {
      ok = read_number(from, &number);
    }
  }
  RowOperand elements() const { return tensor ? RowOperand(*tensor) : RowOperand(&number, sizeof(number)); }
};

const float* floats(const uint8_t* data) { return reinterpret_cast<const float*>(data); }

bool resize_to(KernelRuntimeContext& context, const Tensor& out, const Operand& a, const Operand& b,
               const Tensor* third = nullptr) {
  Shape shape;
  for (const Tensor* tensor : {a.shape, b.shape, third}) {
    if (tensor && !broadcast_shape(context, shape, tensor->sizes())) return false;
  }
  return resize_out(context, out, shape.span());
}

bool run_binary(KernelRuntimeContext& context, BinaryOp op, const Operand& a, const Operand& b, const Tensor& out,
                float p) {
  if (!a.ok || !b.ok || !is_float(out)) return false;
  if (!resize_to(context, out, a, b)) return true;
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  const int64_t grain = op == BinaryOp::Atan2 ? kCostlyGrain : kGrain;
  const RowOperand left = a.elements(), right = b.elements();
  return for_element_rows(context, out, {&left, &right}, grain, [&](const ElementRow& row) {
    kernels.binary(op, floats(row.in[0]), row.step[0], floats(row.in[1]), row.step[1],
                   reinterpret_cast<float*>(row.out), row.n, p);
  });
}

// Copies n numbers, or one number to all elements if the step is 0. Other elements are 1/2, for which all functions are
// finite.
void widen_block(const float* x, int64_t step, int64_t n, double* to) {
  if (step != 0) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<double>(x[i]);
  }
  std::fill(step != 0 ? to + n : to, to + kWideBlock, step != 0 ? 0.5 : static_cast<double>(*x));
}
void narrow_block(const double* x, int64_t n, float* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(x[i]);
}

bool run_wide(KernelRuntimeContext& context, WideFunction function, const Operand& a, const Operand& b,
              const Tensor& out) {
  if (!a.ok || !b.ok || !is_float(out) || !has_wide_functions()) return false;
  if (!resize_to(context, out, a, b)) return true;
  const RowOperand left = a.elements(), right = b.elements();
  return for_element_rows(context, out, {&left, &right}, kCostlyGrain, [&](const ElementRow& row) {
    double x[kWideBlock], y[kWideBlock];
    for (int64_t i = 0; i < row.n; i += kWideBlock) {
      const int64_t n = std::min(kWideBlock, row.n - i);
      widen_block(floats(row.in[0]) + i * row.step[0], row.step[0], n, x);
      widen_block(floats(row.in[1]) + i * row.step[1], row.step[1], n, y);
      function(x, y);
      narrow_block(x, n, reinterpret_cast<float*>(row.out) + i);
    }
  });
}

bool run_compare(KernelRuntimeContext& context, CompareOp op, const Operand& a, const Operand& b, const Tensor& out) {
  if (!a.ok || !b.ok || out.scalar_type() != ScalarType::Bool) return false;
  if (!resize_to(context, out, a, b)) return true;
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  const RowOperand left = a.elements(), right = b.elements();
  return for_element_rows(context, out, {&left, &right}, kGrain, [&](const ElementRow& row) {
    kernels.compare(op, floats(row.in[0]), row.step[0], floats(row.in[1]), row.step[1], row.out, row.n);
  });
}

// Finds the operation on bits that equals an operation on bools.
bool bit_op(BinaryOp op, BitOp* result) {
  const bool is_or = op == BinaryOp::Add || op == BinaryOp::Maximum;
  *result = is_or ? BitOp::Or : BitOp::And;
  return is_or || op == BinaryOp::Mul || op == BinaryOp::Minimum;
}

}  // namespace

bool map_unary(KernelRuntimeContext& context, UnaryOp op, const Tensor& in, const Tensor& out, float p, float q) {
  if (is_f16(in)) return f16_unary(context, op, in, out, p, q);
  const bool converts = (is_integral(in.scalar_type()) || in.scalar_type() == ScalarType::Bool) && makes_floats(op);
  if (!(is_float(in) || converts) || !is_float(out)) return false;
  if (!resize_out_like(context, out, in)) return true;
  if (!same_layout(in, out)) return false;
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  float* to = out.mutable_data_ptr<float>();
  const Convert load = load_function(in.scalar_type(), ScalarType::Float);
  context.parallel_for(0, in.numel(), is_costly(op) ? kCostlyGrain : kGrain, [&](int64_t begin, int64_t end) {
    if (!converts) {
      return kernels.unary(op, in.const_data_ptr<float>() + begin, to + begin, end - begin, p, q);
    }
    constexpr int64_t kBlock = 1024;
    for (int64_t i = begin; i < end; i += kBlock) {
      const int64_t n = std::min(kBlock, end - i);
      load(at(in, i), 1, to + i, 1, n);
      kernels.unary(op, to + i, to + i, n, p, q);
    }
  });
  return true;
}

bool map_rounding(KernelRuntimeContext& context, UnaryOp op, const Tensor& in, const Tensor& out) {
  if (!is_integer(in)) return map_unary(context, op, in, out);
  if (out.scalar_type() != in.scalar_type()) return false;
  if (resize_out_like(context, out, in)) copy_elements(context, in, out);
  return true;
}

bool map_wide(KernelRuntimeContext& context, WideFunction function, const Tensor& in, const Tensor& out) {
  const ScalarType result = float_result(in.scalar_type());
  if (out.scalar_type() != result || compute_type(result) != ScalarType::Float || !has_wide_functions()) return false;
  if (!resize_out_like(context, out, in)) return true;
  if (!same_layout(in, out)) return false;
  const Convert load = load_function(in.scalar_type(), ScalarType::Float);
  const Convert store = store_function(ScalarType::Float, result);
  context.parallel_for(0, in.numel(), kCostlyGrain, [&](int64_t begin, int64_t end) {
    float numbers[kWideBlock];
    double x[kWideBlock];
    for (int64_t i = begin; i < end; i += kWideBlock) {
      const int64_t n = std::min(kWideBlock, end - i);
      load(at(in, i), 1, numbers, 1, n);
      widen_block(numbers, 1, n, x);
      function(x, nullptr);
      narrow_block(x, n, numbers);
      store(numbers, 1, at(out, i), 1, n);
    }
  });
  return true;
}

bool map_wide(KernelRuntimeContext& context, WideFunction function, const Tensor& a, const Tensor& b,
              const Tensor& out) {
  return result_type(a, b) == ScalarType::Float && run_wide(context, function, Operand(a), Operand(b), out);
}
bool map_wide(KernelRuntimeContext& context, WideFunction function, const Tensor& a, const Scalar& b,
              const Tensor& out) {
  return is_float(a) && run_wide(context, function, Operand(a), Operand(b.to<float>()), out);
}
bool map_wide(KernelRuntimeContext& context, WideFunction function, const Scalar& a, const Tensor& b,
              const Tensor& out) {
  return is_float(b) && run_wide(context, function, Operand(a.to<float>()), Operand(b), out);
}

bool map_binary(KernelRuntimeContext& context, BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out,
                float p) {
  BitOp bits;
  if (a.scalar_type() == ScalarType::Bool && bit_op(op, &bits)) return map_bits(context, bits, a, b, out);
  if (is_integer(a)) return integer_binary(context, op, a, b, out);
  if (is_f16(a)) return f16_binary(context, op, a, b, out);
  if (result_type(a, b) != ScalarType::Float) return false;
  return run_binary(context, op, Operand(a), Operand(b), out, p);
}
bool map_binary(KernelRuntimeContext& context, BinaryOp op, const Tensor& a, const Scalar& b, const Tensor& out,
                float p) {
  if (is_integer(a)) return integer_binary(context, op, a, b, out);
  if (is_f16(a)) return f16_binary(context, op, a, b, out);
  return is_float(a) && run_binary(context, op, Operand(a), Operand(b.to<float>()), out, p);
}
bool map_binary(KernelRuntimeContext& context, BinaryOp op, const Scalar& a, const Tensor& b, const Tensor& out,
                float p) {
  if (is_integer(b)) return integer_binary(context, op, a, b, out);
  if (is_f16(b)) return f16_binary(context, op, a, b, out);
  return is_float(b) && run_binary(context, op, Operand(a.to<float>()), Operand(b), out, p);
}

bool map_compare(KernelRuntimeContext& context, CompareOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  if (a.scalar_type() == ScalarType::Bool) return compare_bools(context, op, a, b, out);
  if (is_integer(a)) return integer_compare(context, op, a, b, out);
  if (is_f16(a)) return f16_compare(context, op, a, b, out);
  return all_float(a, b) && run_compare(context, op, Operand(a), Operand(b), out);
}
bool map_compare(KernelRuntimeContext& context, CompareOp op, const Tensor& a, const Scalar& b, const Tensor& out) {
  if (is_integer(a)) return integer_compare(context, op, a, b, out);
  if (is_f16(a)) return f16_compare(context, op, a, b, out);
  return is_float(a) && run_compare(context, op, Operand(a), Operand(b.to<float>()), out);
}

bool map_clamp(KernelRuntimeContext& context, const Tensor& in, const std::optional<Tensor>& min,
               const std::optional<Tensor>& max, const Tensor& out) {
  constexpr int64_t kBlock = 512;
  if (!all_float(in, out) || (min && !is_float(*min)) || (max && !is_float(*max))) return false;
  if (!min || !max) {
    return min   ? map_binary(context, BinaryOp::Maximum, in, *min, out)
           : max ? map_binary(context, BinaryOp::Minimum, in, *max, out)
                 : false;
  }
  const RowOperand operands[] = {RowOperand(in), RowOperand(*min), RowOperand(*max)};
  if (!resize_to_rows(context, out, {&operands[0], &operands[1], &operands[2]})) return true;
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  return for_element_rows(context, out, {&operands[0], &operands[1], &operands[2]}, kGrain, [&](const ElementRow& row) {
    float block[kBlock];
    for (int64_t i = 0; i < row.n; i += kBlock) {
      const int64_t n = std::min(kBlock, row.n - i);
      const auto at = [&](int k) { return floats(row.in[k]) + i * row.step[k]; };
      // The microkernel needs a step of 1. If both operands are numbers, so is their result.
      const bool is_number = row.step[0] == 0 && row.step[1] == 0;
      kernels.binary(BinaryOp::Maximum, at(0), row.step[0], at(1), is_number ? 1 : row.step[1], block,
                     is_number ? 1 : n, 0);
      kernels.binary(BinaryOp::Minimum, block, is_number ? 0 : 1, at(2), row.step[2],
                     reinterpret_cast<float*>(row.out) + i, n, 0);
    }
  });
}

bool map_where(KernelRuntimeContext& context, const Tensor& condition, const Tensor& a, const Tensor& b,
               const Tensor& out) {
  if (condition.scalar_type() != ScalarType::Bool) return false;
  if (!is_float(out)) return select_elements(context, condition, a, b, out);
  if (result_type(a, b) != ScalarType::Float) return false;
  const Operand true_values(a), false_values(b);
  if (!true_values.ok || !false_values.ok) return false;
  if (!resize_to(context, out, true_values, false_values, &condition)) return true;
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  const RowOperand left = true_values.elements(), right = false_values.elements(), mask(condition);
  return for_element_rows(context, out, {&left, &right, &mask}, kGrain, [&](const ElementRow& row) {
    kernels.where(row.in[2], row.step[2], floats(row.in[0]), row.step[0], floats(row.in[1]), row.step[1],
                  reinterpret_cast<float*>(row.out), row.n);
  });
}

}  // namespace rushlight::optimized
