// Kernels of operators on quantized tensors and weights. src/rushlight/ir/quantized_ops.py defines their results.
#pragma once

#include <cstdint>
#include <optional>

#include "rushlight/core/evalue.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::quantized {

void add_out(KernelRuntimeContext& context, const Tensor& a, double a_scale, int64_t a_zero, int64_t, int64_t,
             const Tensor& b, double b_scale, int64_t b_zero, int64_t, int64_t, double scale, int64_t zero,
             int64_t quant_min, int64_t quant_max, Tensor& out);
void dynamic_linear_4bit_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight,
                             const Tensor& weight_scales, const std::optional<Tensor>& bias, bool per_token,
                             bool symmetric, int64_t quant_min, int64_t quant_max, double eps, Tensor& out);
void dynamic_linear_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight,
                        const Tensor& weight_scales, const std::optional<Tensor>& bias, bool per_token, bool symmetric,
                        int64_t quant_min, int64_t quant_max, double eps, Tensor& out);
void embedding_2bit_dtype_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& scales,
                              const std::optional<Tensor>& zero_points, int64_t quant_min, int64_t quant_max,
                              const Tensor& indices, std::optional<ScalarType> dtype, Tensor& out);
void embedding_2bit_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& scales,
                        const std::optional<Tensor>& zero_points, int64_t quant_min, int64_t quant_max,
                        const Tensor& indices, Tensor& out);
void embedding_4bit_dtype_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& scales,
                              const std::optional<Tensor>& zero_points, int64_t quant_min, int64_t quant_max,
                              const Tensor& indices, std::optional<ScalarType> dtype, Tensor& out);
void embedding_4bit_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& scales,
                        const std::optional<Tensor>& zero_points, int64_t quant_min, int64_t quant_max,
                        const Tensor& indices, Tensor& out);
void embedding_byte_dtype_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& scales,
                              const std::optional<Tensor>& zero_points, int64_t quant_min, int64_t quant_max,
                              const Tensor& indices, std::optional<ScalarType> dtype, Tensor& out);
void embedding_byte_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& scales,
                        const std::optional<Tensor>& zero_points, int64_t quant_min, int64_t quant_max,
                        const Tensor& indices, Tensor& out);
void linear_4bit_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight, const Tensor& weight_scales,
                     const std::optional<Tensor>& zero_points, const std::optional<Tensor>& bias, Tensor& out);
void mixed_linear_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight,
                      const Tensor& weight_scales, const std::optional<Tensor>& zero_points,
                      std::optional<ScalarType> dtype, Tensor& out);
void mixed_mm_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight, const Tensor& weight_scales,
                  const std::optional<Tensor>& zero_points, Tensor& out);
void quantized_avg_pool2d_out(KernelRuntimeContext& context, const Tensor& in, double in_scale, int64_t in_zero,
                              Span<const int64_t> kernel, Span<const int64_t> stride, Span<const int64_t> padding,
                              bool ceil_mode, bool count_include_pad, double scale, int64_t zero, int64_t quant_min,
                              int64_t quant_max, Tensor& out);
void quantized_convolution_out(KernelRuntimeContext& context, const Tensor& in, double in_scale, int64_t in_zero,
                               const Tensor& weight, const Tensor& weight_scales, const std::optional<Tensor>& bias,
                               Span<const int64_t> stride, Span<const int64_t> padding, Span<const int64_t> dilation,
                               bool transposed, Span<const int64_t> output_padding, int64_t groups, double scale,
                               int64_t zero, int64_t quant_min, int64_t quant_max, Tensor& out);
void quantized_linear_out(KernelRuntimeContext& context, const Tensor& in, double in_scale, int64_t in_zero,
                          const Tensor& weight, const Tensor& weight_scales, const std::optional<Tensor>& bias,
                          double scale, int64_t zero, int64_t quant_min, int64_t quant_max, Tensor& out);
void quantized_lookup_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& table, Tensor& out);
void quantized_mean_out(KernelRuntimeContext& context, const Tensor& in, double in_scale, int64_t in_zero,
                        Span<const int64_t> dims, bool keepdim, double scale, int64_t zero, int64_t quant_min,
                        int64_t quant_max, Tensor& out);
void quantized_mul_out(KernelRuntimeContext& context, const Tensor& a, double a_scale, int64_t a_zero, int64_t, int64_t,
                       const Tensor& b, double b_scale, int64_t b_zero, int64_t, int64_t, double scale, int64_t zero,
                       int64_t quant_min, int64_t quant_max, Tensor& out);
void quantized_softmax_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& exponentials, int64_t dim,
                           double scale, int64_t zero, int64_t quant_min, int64_t quant_max, Tensor& out);

}  // namespace rushlight::quantized
