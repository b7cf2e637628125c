#include "kernels/optimized/elementwise_f16.h"

#include <algorithm>

#include "kernels/optimized/elementwise_map.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/elementwise_rows.h"
#include "kernels/shared/shape.h"
#include "microkernels/tables/f16.h"

namespace rushlight::optimized {

using microkernels::BinaryOp;
using microkernels::CompareOp;

namespace {

constexpr int64_t kChunk = 1024;

// Converts a number to the dtype of the tensor. Returns false if the dtype cannot represent it.
bool number_of(const Scalar& from, const Tensor& tensor, uint16_t* number) {
  const ScalarType type = tensor.scalar_type();
  const float value = from.to<float>();
  float back;
  store_function(ScalarType::Float, type)(&value, 1, number, 1, 1);
  load_function(type, ScalarType::Float)(number, 1, &back, 1, 1);
  return from.is_double() ? static_cast<double>(back) == from.to<double>() : back == value;
}

// Computes out[i] = op(a[i * a_step], b[i * b_step]), i < n, like F16Microkernels::binary, which small code does not
// have.
void widened_binary(ScalarType type, BinaryOp op, const ElementRow& row) {
  const microkernels::F16Microkernels& kernels = microkernels::f16_microkernels();
  float numbers[3][kChunk];
  for (int64_t i = 0; i < row.n; i += kChunk) {
    const int64_t n = std::min(kChunk, row.n - i);
    for (int k = 0; k < 2; ++k) {
      const uint16_t* const x = reinterpret_cast<const uint16_t*>(row.in[k]) + i * row.step[k];
      kernels.widen(f16_type(type), x, row.step[k] ? n : 1, numbers[k]);
    }
    microkernels::f32_microkernels().binary(op, numbers[0], row.step[0], numbers[1], row.step[1], numbers[2], n, 1.0f);
    kernels.narrow(f16_type(type), numbers[2], n, reinterpret_cast<uint16_t*>(row.out) + i);
  }
}

bool run_binary(KernelRuntimeContext& context, BinaryOp op, ScalarType type, const RowOperand& a, const RowOperand& b,
                const Tensor& out) {
  // A fused multiply-add would be rounded differently than in eager PyTorch.
  if (out.scalar_type() != type || op == BinaryOp::AddScaled || op == BinaryOp::Atan2) return false;
  if (!resize_to_rows(context, out, {&a, &b})) return true;
  const microkernels::F16Microkernels& kernels = microkernels::f16_microkernels();
  return for_element_rows(context, out, {&a, &b}, kElementGrain, [&](const ElementRow& row) {
    if (!kernels.binary) return widened_binary(type, op, row);
    kernels.binary(f16_type(type), op, reinterpret_cast<const uint16_t*>(row.in[0]), row.step[0],
                   reinterpret_cast<const uint16_t*>(row.in[1]), row.step[1], reinterpret_cast<uint16_t*>(row.out),
                   row.n);
  });
}

bool run_compare(KernelRuntimeContext& context, CompareOp op, ScalarType type, const RowOperand& a, const RowOperand& b,
                 const Tensor& out) {
  if (out.scalar_type() != ScalarType::Bool) return false;
  if (!resize_to_rows(context, out, {&a, &b})) return true;
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  const Convert load = load_function(type, ScalarType::Float);
  return for_element_rows(context, out, {&a, &b}, kElementGrain, [&](const ElementRow& row) {
    float numbers[2][kChunk];
    for (int64_t i = 0; i < row.n; i += kChunk) {
      const int64_t n = std::min(kChunk, row.n - i);
      for (int k = 0; k < 2; ++k) load(row.in[k] + 2 * i * row.step[k], 1, numbers[k], 1, row.step[k] ? n : 1);
      kernels.compare(op, numbers[0], row.step[0], numbers[1], row.step[1], row.out + i, n);
    }
  });
}

}  // namespace

microkernels::F16Type f16_type(ScalarType type) {
  return type == ScalarType::Half ? microkernels::F16Type::Float16 : microkernels::F16Type::BFloat16;
}

bool is_f16(const Tensor& tensor) { return dtypes::kHalf.contains(tensor.scalar_type()); }

bool f16_unary(KernelRuntimeContext& context, microkernels::UnaryOp op, const Tensor& in, const Tensor& out, float p,
               float q) {
  if (!is_f16(in) || out.scalar_type() != in.scalar_type()) return false;
  if (!resize_out_like(context, out, in)) return true;
  if (!same_layout(in, out)) return false;
  const microkernels::F16Microkernels& kernels = microkernels::f16_microkernels();
  const uint16_t* const x = in.const_data_ptr<uint16_t>();
  uint16_t* const y = out.mutable_data_ptr<uint16_t>();
  const microkernels::F16Type type = f16_type(in.scalar_type());
  const int64_t grain = is_costly(op) ? kElementGrain / 8 : kElementGrain;
  context.parallel_for(0, in.numel(), grain, [&](int64_t begin, int64_t end) {
    if (kernels.unary && op < microkernels::UnaryOp::Exp) {
      return kernels.unary(type, op, x + begin, y + begin, end - begin, p, q);
    }
    // The other operators have only float32 microkernels.
    float numbers[kChunk];
    for (int64_t i = begin; i < end; i += kChunk) {
      const int64_t n = std::min(kChunk, end - i);
      kernels.widen(type, x + i, n, numbers);
      microkernels::f32_microkernels().unary(op, numbers, numbers, n, p, q);
      kernels.narrow(type, numbers, n, y + i);
    }
  });
  return true;
}

bool f16_binary(KernelRuntimeContext& context, BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  return is_f16(a) && a.scalar_type() == b.scalar_type() &&
         run_binary(context, op, a.scalar_type(), RowOperand(a), RowOperand(b), out);
}
bool f16_binary(KernelRuntimeContext& context, BinaryOp op, const Tensor& a, const Scalar& b, const Tensor& out) {
  uint16_t number;
  return is_f16(a) && number_of(b, a, &number) &&
         run_binary(context, op, a.scalar_type(), RowOperand(a), RowOperand(&number, 2), out);
}
bool f16_binary(KernelRuntimeContext& context, BinaryOp op, const Scalar& a, const Tensor& b, const Tensor& out) {
  uint16_t number;
  return is_f16(b) && number_of(a, b, &number) &&
         run_binary(context, op, b.scalar_type(), RowOperand(&number, 2), RowOperand(b), out);
}

bool f16_compare(KernelRuntimeContext& context, CompareOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  return is_f16(a) && a.scalar_type() == b.scalar_type() &&
         run_compare(context, op, a.scalar_type(), RowOperand(a), RowOperand(b), out);
}
bool f16_compare(KernelRuntimeContext& context, CompareOp op, const Tensor& a, const Scalar& b, const Tensor& out) {
  uint16_t number;
  return is_f16(a) && number_of(b, a, &number) &&
         run_compare(context, op, a.scalar_type(), RowOperand(a), RowOperand(&number, 2), out);
}

}  // namespace rushlight::optimized
