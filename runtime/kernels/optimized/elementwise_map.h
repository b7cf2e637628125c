#pragma once

#include <optional>

#include "kernels/optimized/wide_functions.h"
#include "microkernels/tables/f32.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/scalar.h"
#include "rushlight/core/tensor.h"

namespace rushlight::optimized {

// Whether a function needs dozens of instructions per element.
constexpr bool is_costly(microkernels::UnaryOp op) {
  return op >= microkernels::UnaryOp::Exp && op <= microkernels::UnaryOp::Elu;
}

// Whether the result of a function is float32 if the elements are integers.
constexpr bool makes_floats(microkernels::UnaryOp op) {
  using microkernels::UnaryOp;
  return (op >= UnaryOp::Exp && op <= UnaryOp::Log10) || op == UnaryOp::Sqrt || op == UnaryOp::Rsqrt ||
         op == UnaryOp::Reciprocal;
}

// These functions resize `out` and compute with all threads. They return false for unsupported arguments: elements that
// are not float32 (except an operand of one element, which is used as a number), and operands that are neither
// contiguous nor broadcast along the innermost dim of out's dim order.
bool map_unary(KernelRuntimeContext& context, microkernels::UnaryOp op, const Tensor& in, const Tensor& out,
               float p = 0, float q = 0);
// Does the same for a function that does not change integers.
bool map_rounding(KernelRuntimeContext& context, microkernels::UnaryOp op, const Tensor& in, const Tensor& out);
// The input may have any dtype that is computed in float32, or integers.
bool map_wide(KernelRuntimeContext& context, WideFunction function, const Tensor& in, const Tensor& out);
bool map_wide(KernelRuntimeContext& context, WideFunction function, const Tensor& a, const Tensor& b,
              const Tensor& out);
bool map_wide(KernelRuntimeContext& context, WideFunction function, const Tensor& a, const Scalar& b,
              const Tensor& out);
bool map_wide(KernelRuntimeContext& context, WideFunction function, const Scalar& a, const Tensor& b,
              const Tensor& out);
bool map_binary(KernelRuntimeContext& context, microkernels::BinaryOp op, const Tensor& a, const Tensor& b,
                const Tensor& out, float p = 0);
bool map_binary(KernelRuntimeContext& context, microkernels::BinaryOp op, const Tensor& a, const Scalar& b,
                const Tensor& out, float p = 0);
// Does the same with a number as the first operand.
bool map_binary(KernelRuntimeContext& context, microkernels::BinaryOp op, const Scalar& a, const Tensor& b,
                const Tensor& out, float p = 0);
bool map_compare(KernelRuntimeContext& context, microkernels::CompareOp op, const Tensor& a, const Tensor& b,
                 const Tensor& out);
bool map_compare(KernelRuntimeContext& context, microkernels::CompareOp op, const Tensor& a, const Scalar& b,
                 const Tensor& out);
// Clamps float32 numbers to [min, max], where min or max may be absent. NaN results if an operand is NaN.
bool map_clamp(KernelRuntimeContext& context, const Tensor& in, const std::optional<Tensor>& min,
               const std::optional<Tensor>& max, const Tensor& out);
bool map_where(KernelRuntimeContext& context, const Tensor& condition, const Tensor& a, const Tensor& b,
               const Tensor& out);

}  // namespace rushlight::optimized
