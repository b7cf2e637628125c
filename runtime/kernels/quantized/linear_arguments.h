#pragma once

#include <cstdint>
#include <optional>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::quantized {

// Sets the shape of `out` to [..., columns] for an input [..., depth]. If the last dimension of the input is not
// `depth`, or the bias does not have `columns` elements, records the failure and returns false.
bool resize_linear(KernelRuntimeContext& context, const Tensor& in, int64_t depth, int64_t columns,
                   const std::optional<Tensor>& bias, const Tensor& out);

}  // namespace rushlight::quantized
