#pragma once

#include <optional>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::quantized {

// Copies rows of a weight with `bits` bits per number. The numbers are dequantized in the dtype of the scales and then
// converted to the dtype of `out`.
void embed(KernelRuntimeContext& context, int bits, const Tensor& weight, const Tensor& scales,
           const std::optional<Tensor>& zero_points, const Tensor& indices, std::optional<ScalarType> dtype,
           const Tensor& out);

}  // namespace rushlight::quantized
