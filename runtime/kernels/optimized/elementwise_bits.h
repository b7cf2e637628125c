#pragma once

#include "kernels/shared/element_loops.h"
#include "microkernels/tables/f32.h"
#include "rushlight/core/evalue.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::optimized {

// Combines the bits of integers of one dtype, or the values of bools. Return false if they do not support the
// arguments.
bool map_bits(KernelRuntimeContext& context, BitOp op, const Tensor& a, const Tensor& b, const Tensor& out);
bool map_bits(KernelRuntimeContext& context, BitOp op, const Tensor& a, const Scalar& b, const Tensor& out);

// Compares bools. Returns false for tensors of other dtypes.
bool compare_bools(KernelRuntimeContext& context, microkernels::CompareOp op, const Tensor& a, const Tensor& b,
                   const Tensor& out);

// Combines the conditions a != 0 and b != 0 of bools or 8-bit integers, to a bool. Returns false if it does not support
// the arguments.
bool map_conditions(KernelRuntimeContext& context, BitOp op, const Tensor& a, const Tensor& b, const Tensor& out);

}  // namespace rushlight::optimized
