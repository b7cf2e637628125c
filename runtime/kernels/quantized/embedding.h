#pragma once

#include <optional>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::quantized {

// Copies rows of a weight with `bits` bits for each number, dequantized in the dtype of the scales and then converted
// to that of `out`.
void embed(KernelRuntimeContext& context, int bits, const Tensor& weight, const Tensor& scales,
           const std::optional<Tensor>& zero_points, const Tensor& indices, std::optional<ScalarType> dtype,
           const Tensor& out);

}  // namespace rushlight::quantized
