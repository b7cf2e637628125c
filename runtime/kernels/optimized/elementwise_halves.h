#pragma once

#include "kernels/optimized/tiles/half_tiles.h"
#include "kernels/optimized/tiles/tiles.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/scalar.h"
#include "rushlight/core/tensor.h"

namespace rushlight::optimized {

// Of float16 or bfloat16.
tiles::HalfType half_type(ScalarType type);

// As the functions of elementwise_map.h for float16 and bfloat16, in float32; numbers are only covered where the type
// holds them.
bool is_half(const Tensor& tensor);
bool half_unary(KernelRuntimeContext& context, tiles::UnaryOp op, const Tensor& in, const Tensor& out, float p,
                float q);
bool half_binary(KernelRuntimeContext& context, tiles::BinaryOp op, const Tensor& a, const Tensor& b,
                 const Tensor& out);
bool half_binary(KernelRuntimeContext& context, tiles::BinaryOp op, const Tensor& a, const Scalar& b,
                 const Tensor& out);
bool half_binary(KernelRuntimeContext& context, tiles::BinaryOp op, const Scalar& a, const Tensor& b,
                 const Tensor& out);
bool half_compare(KernelRuntimeContext& context, tiles::CompareOp op, const Tensor& a, const Tensor& b,
                  const Tensor& out);
bool half_compare(KernelRuntimeContext& context, tiles::CompareOp op, const Tensor& a, const Scalar& b,
                  const Tensor& out);

}  // namespace rushlight::optimized
