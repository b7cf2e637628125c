// Kernels return whether they cover the arguments; where they do not, the quantized kernel of that name runs.
#pragma once

#include <cstdint>
#include <optional>

#include "rushlight/core/evalue.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::optimized {

bool quantized_convolution_out(KernelRuntimeContext& context, const Tensor& in, double in_scale, int64_t in_zero,
                               const Tensor& weight, const Tensor& weight_scales, const std::optional<Tensor>& bias,
                               Span<const int64_t> stride, Span<const int64_t> padding, Span<const int64_t> dilation,
                               bool transposed, Span<const int64_t> output_padding, int64_t groups, double scale,
                               int64_t zero, int64_t least, int64_t most, Tensor& out);
bool quantized_linear_out(KernelRuntimeContext& context, const Tensor& in, double in_scale, int64_t in_zero,
                          const Tensor& weight, const Tensor& weight_scales, const std::optional<Tensor>& bias,
                          double scale, int64_t zero, int64_t least, int64_t most, Tensor& out);

}  // namespace rushlight::optimized
