#pragma once

#include "microkernels/tables/f16.h"
#include "microkernels/tables/f32.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/scalar.h"
#include "rushlight/core/tensor.h"

namespace rushlight::optimized {

// Returns the type of the microkernels for Half or BFloat16.
microkernels::F16Type f16_type(ScalarType type);

// The functions of elementwise_map.h for float16 and bfloat16, computed in float32. They return false for numbers that
// the dtype cannot represent.
bool is_f16(const Tensor& tensor);
bool f16_unary(KernelRuntimeContext& context, microkernels::UnaryOp op, const Tensor& in, const Tensor& out, float p,
               float q);
bool f16_binary(KernelRuntimeContext& context, microkernels::BinaryOp op, const Tensor& a, const Tensor& b,
                const Tensor& out);
bool f16_binary(KernelRuntimeContext& context, microkernels::BinaryOp op, const Tensor& a, const Scalar& b,
                const Tensor& out);
bool f16_binary(KernelRuntimeContext& context, microkernels::BinaryOp op, const Scalar& a, const Tensor& b,
                const Tensor& out);
bool f16_compare(KernelRuntimeContext& context, microkernels::CompareOp op, const Tensor& a, const Tensor& b,
                 const Tensor& out);
bool f16_compare(KernelRuntimeContext& context, microkernels::CompareOp op, const Tensor& a, const Scalar& b,
                 const Tensor& out);

}  // namespace rushlight::optimized
