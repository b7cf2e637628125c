#pragma once

#include <optional>

#include "microkernels/tables/f32.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/scalar.h"
#include "rushlight/core/tensor.h"

namespace rushlight::optimized {

// Operations on int8, uint8, int16, int32 and int64. They return false for tensors of different dtypes, for numbers
// that the dtype cannot represent, and for operations that integers do not have.
bool is_integer(const Tensor& tensor);
bool integer_binary(KernelRuntimeContext& context, microkernels::BinaryOp op, const Tensor& a, const Tensor& b,
                    const Tensor& out);
bool integer_binary(KernelRuntimeContext& context, microkernels::BinaryOp op, const Tensor& a, const Scalar& b,
                    const Tensor& out);
bool integer_binary(KernelRuntimeContext& context, microkernels::BinaryOp op, const Scalar& a, const Tensor& b,
                    const Tensor& out);
bool integer_compare(KernelRuntimeContext& context, microkernels::CompareOp op, const Tensor& a, const Tensor& b,
                     const Tensor& out);
bool integer_compare(KernelRuntimeContext& context, microkernels::CompareOp op, const Tensor& a, const Scalar& b,
                     const Tensor& out);
bool integer_abs(KernelRuntimeContext& context, const Tensor& in, const Tensor& out);
bool integer_clamp(KernelRuntimeContext& context, const Tensor& in, const std::optional<Scalar>& min,
                   const std::optional<Scalar>& max, const Tensor& out);

// Supports elements of 1, 2, 4 or 8 bytes of any dtype. `a`, `b` and `out` have the same dtype.
bool select_elements(KernelRuntimeContext& context, const Tensor& condition, const Tensor& a, const Tensor& b,
                     const Tensor& out);

}  // namespace rushlight::optimized
