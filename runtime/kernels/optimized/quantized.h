// A kernel returns false if it does not support the arguments; then the quantized kernel of the same name runs.
#pragma once

#include <cstdint>
#include <optional>

#include "rushlight/core/evalue.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::optimized {

bool dynamic_linear_4bit_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight,
                             const Tensor& weight_scales, const std::optional<Tensor>& bias, bool per_token,
                             bool symmetric, int64_t quant_min, int64_t quant_max, double eps, Tensor& out);
bool dynamic_linear_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight,
                        const Tensor& weight_scales, const std::optional<Tensor>& bias, bool per_token, bool symmetric,
                        int64_t quant_min, int64_t quant_max, double eps, Tensor& out);
bool dequantize_per_channel_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales,
                                const std::optional<Tensor>& zero_points, int64_t axis, int64_t quant_min,
                                int64_t quant_max, ScalarType dtype, std::optional<ScalarType> out_dtype, Tensor& out);
bool dequantize_per_tensor_out(KernelRuntimeContext& context, const Tensor& in, double scale, int64_t zero_point,
                               int64_t quant_min, int64_t quant_max, ScalarType dtype,
                               std::optional<ScalarType> out_dtype, Tensor& out);
bool dequantize_per_tensor_tensor_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scale,
                                      const Tensor& zero_point, int64_t quant_min, int64_t quant_max, ScalarType dtype,
                                      std::optional<ScalarType> out_dtype, Tensor& out);
bool quantize_per_channel_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales,
                              const Tensor& zero_points, int64_t axis, int64_t quant_min, int64_t quant_max,
                              ScalarType dtype, Tensor& out);
bool quantize_per_tensor_out(KernelRuntimeContext& context, const Tensor& in, double scale, int64_t zero_point,
                             int64_t quant_min, int64_t quant_max, ScalarType dtype, Tensor& out);
bool quantize_per_tensor_tensor_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scale,
                                    const Tensor& zero_point, int64_t quant_min, int64_t quant_max, ScalarType dtype,
                                    Tensor& out);
bool quantized_add_out(KernelRuntimeContext& context, const Tensor& a, double a_scale, int64_t a_zero, int64_t, int64_t,
                       const Tensor& b, double b_scale, int64_t b_zero, int64_t, int64_t, double scale, int64_t zero,
                       int64_t quant_min, int64_t quant_max, Tensor& out);
bool quantized_mul_out(KernelRuntimeContext& context, const Tensor& a, double a_scale, int64_t a_zero, int64_t, int64_t,
                       const Tensor& b, double b_scale, int64_t b_zero, int64_t, int64_t, double scale, int64_t zero,
                       int64_t quant_min, int64_t quant_max, Tensor& out);
bool dequantize_per_token_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales,
                              const Tensor& zero_points, int64_t quant_min, int64_t quant_max, ScalarType dtype,
                              ScalarType out_dtype, Tensor& out);
bool embedding_4bit_dtype_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& scales,
                              const std::optional<Tensor>& zero_points, int64_t quant_min, int64_t quant_max,
                              const Tensor& indices, std::optional<ScalarType> dtype, Tensor& out);
bool embedding_4bit_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& scales,
                        const std::optional<Tensor>& zero_points, int64_t quant_min, int64_t quant_max,
                        const Tensor& indices, Tensor& out);
bool embedding_byte_dtype_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& scales,
                              const std::optional<Tensor>& zero_points, int64_t quant_min, int64_t quant_max,
                              const Tensor& indices, std::optional<ScalarType> dtype, Tensor& out);
bool embedding_byte_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& scales,
                        const std::optional<Tensor>& zero_points, int64_t quant_min, int64_t quant_max,
                        const Tensor& indices, Tensor& out);
bool linear_4bit_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight, const Tensor& weight_scales,
                     const std::optional<Tensor>& zero_points, const std::optional<Tensor>& bias, Tensor& out);
bool mixed_linear_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight,
                      const Tensor& weight_scales, const std::optional<Tensor>& zero_points,
                      std::optional<ScalarType> dtype, Tensor& out);
bool quantized_convolution_out(KernelRuntimeContext& context, const Tensor& in, double in_scale, int64_t in_zero,
                               const Tensor& weight, const Tensor& weight_scales, const std::optional<Tensor>& bias,
                               Span<const int64_t> stride, Span<const int64_t> padding, Span<const int64_t> dilation,
                               bool transposed, Span<const int64_t> output_padding, int64_t groups, double scale,
                               int64_t zero, int64_t quant_min, int64_t quant_max, Tensor& out);
bool quantized_linear_out(KernelRuntimeContext& context, const Tensor& in, double in_scale, int64_t in_zero,
                          const Tensor& weight, const Tensor& weight_scales, const std::optional<Tensor>& bias,
                          double scale, int64_t zero, int64_t quant_min, int64_t quant_max, Tensor& out);

}  // namespace rushlight::optimized
