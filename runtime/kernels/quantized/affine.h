// Conversions between real and quantized numbers: real = (q - zero_point) * scale.
#pragma once

#include <cstdint>
#include <optional>

#include "rushlight/core/evalue.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::quantized {

void choose_qparams_per_token_asymmetric_out(KernelRuntimeContext& context, const Tensor& in, ScalarType dtype,
                                             Tensor& scale, Tensor& zero_point);
void choose_qparams_per_token_symmetric_out(KernelRuntimeContext& context, const Tensor& in, int64_t quant_min,
                                            int64_t quant_max, double eps, ScalarType dtype, Tensor& scale,
                                            Tensor& zero_point);
void choose_qparams_per_token_out(KernelRuntimeContext& context, const Tensor& in, ScalarType dtype, Tensor& scale,
                                  Tensor& zero_point);
void choose_qparams_symmetric_tensor_out(KernelRuntimeContext& context, const Tensor& in, int64_t quant_min,
                                         int64_t quant_max, double eps, ScalarType dtype, Tensor& scale,
                                         Tensor& zero_point);
void choose_qparams_tensor_out(KernelRuntimeContext& context, const Tensor& in, int64_t quant_min, int64_t quant_max,
                               double eps, ScalarType dtype, Tensor& scale, Tensor& zero_point);
void convert_element_type_out(KernelRuntimeContext& context, const Tensor& in, ScalarType dtype, Tensor& out);
void dequantize_per_channel_group_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales,
                                      const std::optional<Tensor>& zero_points, int64_t quant_min, int64_t quant_max,
                                      ScalarType dtype, int64_t group_size, ScalarType out_dtype, Tensor& out);
void dequantize_per_channel_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales,
                                const std::optional<Tensor>& zero_points, int64_t axis, int64_t quant_min,
                                int64_t quant_max, ScalarType dtype, std::optional<ScalarType> out_dtype, Tensor& out);
void dequantize_per_tensor_out(KernelRuntimeContext& context, const Tensor& in, double scale, int64_t zero_point,
                               int64_t quant_min, int64_t quant_max, ScalarType dtype,
                               std::optional<ScalarType> out_dtype, Tensor& out);
void dequantize_per_tensor_tensor_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scale,
                                      const Tensor& zero_point, int64_t quant_min, int64_t quant_max, ScalarType dtype,
                                      std::optional<ScalarType> out_dtype, Tensor& out);
void dequantize_per_tensor_tensor2_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scale,
                                       const Tensor& zero_point, const Tensor& quant_min, const Tensor& quant_max,
                                       ScalarType dtype, std::optional<ScalarType> out_dtype, Tensor& out);
void dequantize_per_token_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales,
                              const Tensor& zero_points, int64_t quant_min, int64_t quant_max, ScalarType dtype,
                              ScalarType out_dtype, Tensor& out);
void fake_quant_per_channel_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales,
                                const Tensor& zero_points, int64_t axis, int64_t quant_min, int64_t quant_max,
                                Tensor& out);
void quantize_per_channel_group_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales,
                                    const Tensor& zero_points, int64_t quant_min, int64_t quant_max, ScalarType dtype,
                                    int64_t group_size, Tensor& out);
void quantize_per_channel_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales,
                              const Tensor& zero_points, int64_t axis, int64_t quant_min, int64_t quant_max,
                              ScalarType dtype, Tensor& out);
void quantize_per_tensor_out(KernelRuntimeContext& context, const Tensor& in, double scale, int64_t zero_point,
                             int64_t quant_min, int64_t quant_max, ScalarType dtype, Tensor& out);
void quantize_per_tensor_tensor_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scale,
                                    const Tensor& zero_point, int64_t quant_min, int64_t quant_max, ScalarType dtype,
                                    Tensor& out);
void quantize_per_tensor_tensor2_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scale,
                                     const Tensor& zero_point, const Tensor& quant_min, const Tensor& quant_max,
                                     ScalarType dtype, Tensor& out);
void quantize_per_token_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales,
                            const Tensor& zero_points, int64_t quant_min, int64_t quant_max, ScalarType dtype,
                            Tensor& out);

}  // namespace rushlight::quantized
