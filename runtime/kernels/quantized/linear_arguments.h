#pragma once

#include <cstdint>
#include <optional>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::quantized {

// Gives `out` the shape [..., columns] for an input [..., depth]; false and the failure recorded if the input's last
// dim is another or the bias has not `columns` elements.
bool resize_linear(KernelRuntimeContext& context, const Tensor& in, int64_t depth, int64_t columns,
                   const std::optional<Tensor>& bias, const Tensor& out);

}  // namespace rushlight::quantized
