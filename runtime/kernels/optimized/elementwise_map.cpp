#include "kernels/optimized/elementwise_map.h"

#include "kernels/optimized/elementwise_f16.h"
#include "kernels/optimized/elementwise_integer.h"
#include "kernels/optimized/layout.h"
#include "kernels/shared/element.h"
#include "kernels/shared/loop_nest.h"
#include "kernels/shared/promotion.h"
#include "kernels/shared/shape.h"

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
  const float* data = nullptr;
  float number = 0;
  const Tensor* tensor = nullptr;  // null for a number
  const Tensor* shape = nullptr;   // the tensor whose shape is broadcast; null if there is none
  bool ok = true;

  explicit Operand(float value) : number(value) {}
  explicit Operand(const Tensor& from) : shape(&from) {
    if (is_float(from)) {
      data = from.const_data_ptr<float>();
      tensor = &from;
    } else {
      ok = read_number(from, &number);
    }
  }
  void add_to(LoopNest& nest) const {
    if (tensor) {
      nest.add(*tensor);
      return;
    }
    for (int d = 0; d < nest.dim; ++d) nest.stride[nest.operands][d] = 0;
    ++nest.operands;
  }
  const float* at(int64_t offset) const { return tensor ? data + offset : &number; }
};

// Makes loops over `out` and operands 1, 2, ... whose rows microkernels can compute. Returns false if they cannot.
bool make_rows(LoopNest* nest, const Tensor& out, const Operand& a, const Operand& b, const Tensor* third = nullptr) {
  *nest = LoopNest::over(out.sizes());
  nest->add(out);
  a.add_to(*nest);
  b.add_to(*nest);
  if (third) nest->add(*third);
  nest->sort_by(0);
  nest->collapse();
  if (nest->dim == 0) return true;
  if (nest->inner_stride(0) != 1) return false;
  for (int k = 1; k < nest->operands; ++k) {
    if (nest->inner_stride(k) != 1 && nest->inner_stride(k) != 0) return false;
  }
  return true;
}

bool resize_to(KernelRuntimeContext& context, const Tensor& out, const Operand& a, const Operand& b,
               const Tensor* third = nullptr) {
  Shape shape;
  for (const Tensor* tensor : {a.shape, b.shape, third}) {
    if (tensor && !broadcast_shape(context, shape, tensor->sizes())) return false;
  }
  return resize_out(context, out, shape.span());
}

int64_t step(const LoopNest& nest, int operand) { return nest.dim == 0 ? 0 : nest.inner_stride(operand); }

bool run_binary(KernelRuntimeContext& context, BinaryOp op, const Operand& a, const Operand& b, const Tensor& out,
                float p) {
  if (!a.ok || !b.ok || !is_float(out)) return false;
  if (!resize_to(context, out, a, b)) return true;
  LoopNest nest;
  if (!make_rows(&nest, out, a, b)) return false;
  const int64_t a_step = step(nest, 1);
  const int64_t b_step = a_step ? step(nest, 2) : 1;
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  float* to = out.mutable_data_ptr<float>();
  const int64_t grain = op == BinaryOp::Atan2 ? kCostlyGrain : kGrain;
  context.parallel_for(0, nest.numel(), grain, [&](int64_t begin, int64_t end) {
    for_each_row(nest, begin, end, [&](const int64_t* offset, int64_t n) {
      kernels.binary(op, a.at(offset[1]), a_step, b.at(offset[2]), b_step, to + offset[0], n, p);
    });
  });
  return true;
}

bool run_compare(KernelRuntimeContext& context, CompareOp op, const Operand& a, const Operand& b, const Tensor& out) {
  if (!a.ok || !b.ok || out.scalar_type() != ScalarType::Bool) return false;
  if (!resize_to(context, out, a, b)) return true;
  LoopNest nest;
  if (!make_rows(&nest, out, a, b)) return false;
  const int64_t a_step = step(nest, 1);
  const int64_t b_step = a_step ? step(nest, 2) : 1;
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  uint8_t* to = out.mutable_data_ptr<uint8_t>();
  context.parallel_for(0, nest.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for_each_row(nest, begin, end, [&](const int64_t* offset, int64_t n) {
      kernels.compare(op, a.at(offset[1]), a_step, b.at(offset[2]), b_step, to + offset[0], n);
    });
  });
  return true;
}

}  // namespace

bool map_unary(KernelRuntimeContext& context, UnaryOp op, const Tensor& in, const Tensor& out, float p, float q) {
  if (is_f16(in)) return f16_unary(context, op, in, out, p, q);
  if (!all_float(in, out)) return false;
  if (!resize_out_like(context, out, in)) return true;
  if (!same_layout(in, out)) return false;
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  const float* from = in.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  context.parallel_for(0, in.numel(), is_costly(op) ? kCostlyGrain : kGrain, [&](int64_t begin, int64_t end) {
    kernels.unary(op, from + begin, to + begin, end - begin, p, q);
  });
  return true;
}

bool map_binary(KernelRuntimeContext& context, BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out,
                float p) {
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
  if (is_integer(a)) return integer_compare(context, op, a, b, out);
  if (is_f16(a)) return f16_compare(context, op, a, b, out);
  return all_float(a, b) && run_compare(context, op, Operand(a), Operand(b), out);
}
bool map_compare(KernelRuntimeContext& context, CompareOp op, const Tensor& a, const Scalar& b, const Tensor& out) {
  if (is_integer(a)) return integer_compare(context, op, a, b, out);
  if (is_f16(a)) return f16_compare(context, op, a, b, out);
  return is_float(a) && run_compare(context, op, Operand(a), Operand(b.to<float>()), out);
}

bool map_where(KernelRuntimeContext& context, const Tensor& condition, const Tensor& a, const Tensor& b,
               const Tensor& out) {
  if (condition.scalar_type() != ScalarType::Bool) return false;
  if (!is_float(out)) return select_elements(context, condition, a, b, out);
  if (result_type(a, b) != ScalarType::Float) return false;
  const Operand true_values(a), false_values(b);
  if (!true_values.ok || !false_values.ok) return false;
  if (!resize_to(context, out, true_values, false_values, &condition)) return true;
  LoopNest nest;
  if (!make_rows(&nest, out, true_values, false_values, &condition)) return false;
  const int64_t steps[] = {step(nest, 1), step(nest, 2), step(nest, 3)};
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  float* to = out.mutable_data_ptr<float>();
  const uint8_t* mask = condition.const_data_ptr<uint8_t>();
  context.parallel_for(0, nest.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for_each_row(nest, begin, end, [&](const int64_t* offset, int64_t n) {
      kernels.where(mask + offset[3], steps[2], true_values.at(offset[1]), steps[0], false_values.at(offset[2]),
                    steps[1], to + offset[0], n);
    });
  });
  return true;
}

}  // namespace rushlight::optimized
