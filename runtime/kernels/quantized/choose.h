#pragma once

#include <cstdint>

#include "core/quantization_params.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::quantized {

// Finds the extremes of all elements of a tensor of float32, float16 or bfloat16. It is false, and the failure is
// recorded, if the tensor has no elements.
bool extremes_of(KernelRuntimeContext& context, const Tensor& in, Extremes* extremes);

// Whether quant_min is below quant_max and both are int32, which are the numbers that tensors are quantized to.
bool require_levels(KernelRuntimeContext& context, int64_t quant_min, int64_t quant_max);

// Sets the only element of each tensor, which is resized to [1].
void set_chosen(KernelRuntimeContext& context, const Affine& chosen, const Tensor& scale, const Tensor& zero_point);
// Writes a value to element `index` of a tensor in row-major order.
void set_number(const Tensor& tensor, int64_t index, double value);

// Resizes a tensor to the shape of `in` with one element in the last dimension. Returns the number of tokens; if this
// fails, records the failure and returns -1.
int64_t resize_for_tokens(KernelRuntimeContext& context, const Tensor& in, const Tensor& scale,
                          const Tensor& zero_point);

}  // namespace rushlight::quantized
