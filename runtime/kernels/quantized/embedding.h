#pragma once

#include <optional>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::quantized {

// Rows of a weight of `bits` bits a number, made real in the type of the scales and then that of `out`.
void embed(KernelRuntimeContext& context, int bits, const Tensor& weight, const Tensor& scales,
           const std::optional<Tensor>& zero_points, const Tensor& indices, std::optional<ScalarType> dtype,
           const Tensor& out);

}  // namespace rushlight::quantized
