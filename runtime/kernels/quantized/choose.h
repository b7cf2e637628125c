#pragma once

#include <cstdint>

#include "core/quantization_params.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::quantized {

// Finds the extremes of all elements of a tensor of float32, float16 or bfloat16. It is false, and the failure is
// recorded, if the tensor has no elements.
bool extremes_of(KernelRuntimeContext& context, const Tensor& in, Extremes* extremes);

// Sets the one element of each, resized to [1].
void set_chosen(KernelRuntimeContext& context, const Affine& chosen, const Tensor& scale, const Tensor& zero_point);
// value into element `index` of a tensor in row-major order.
void set_number(const Tensor& tensor, int64_t index, double value);

// Resizes to the shape of `in` with one element in the last dim; gives the number of tokens, or -1 and the failure
// recorded.
int64_t resize_for_tokens(KernelRuntimeContext& context, const Tensor& in, const Tensor& scale,
                          const Tensor& zero_point);

}  // namespace rushlight::quantized
