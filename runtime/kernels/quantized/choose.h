#pragma once

#include <cstdint>

#include "core/quantization_params.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::quantized {

// Finds the extremes of all elements of a float32, float16 or bfloat16 tensor. If the tensor has no elements, records
// the failure and returns false.
bool extremes_of(KernelRuntimeContext& context, const Tensor& in, Extremes* extremes);

// Checks that quant_min is below quant_max and that both are in the range of int32. Else records the failure.
bool require_levels(KernelRuntimeContext& context, int64_t quant_min, int64_t quant_max);

// Resizes both tensors to [1], and sets their elements to the chosen scale and zero point.
void set_chosen(KernelRuntimeContext& context, const Affine& chosen, const Tensor& scale, const Tensor& zero_point);
// Writes a value to element `index` of a row-major tensor.
void set_number(const Tensor& tensor, int64_t index, double value);

// Resizes `scale` and the zero points to the shape of `in` with one element in the last dimension. Returns the number
// of tokens. If this fails, records the failure and returns -1.
int64_t resize_for_tokens(KernelRuntimeContext& context, const Tensor& in, const Tensor& scale,
                          const Tensor& zero_point);

}  // namespace rushlight::quantized
