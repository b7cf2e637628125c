#pragma once

#include <optional>

#include "microkernels/tables/f32.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/scalar.h"
#include "rushlight/core/tensor.h"

namespace rushlight::optimized {

// Operations on int8, uint8, int16, int32 and int64. A function returns false if it cannot take the arguments: tensors
// of different types, numbers that the type does not hold, operations that integers do not have.
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
bool integer_clamp(KernelRuntimeContext& context, const Tensor& in, const std::optional<Scalar>& least,
                   const std::optional<Scalar>& most, const Tensor& out);

// Elements of any type of 1, 2, 4 or 8 bytes, all three tensors of one.
bool select_elements(KernelRuntimeContext& context, const Tensor& condition, const Tensor& a, const Tensor& b,
                     const Tensor& out);

}  // namespace rushlight::optimized
