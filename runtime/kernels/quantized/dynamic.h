// Inputs that are quantized dynamically, by the range of their values.
#pragma once

#include <cstdint>
#include <optional>

#include "core/quantization_params.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::quantized {

struct DynamicRange {
  bool per_token, symmetric;
  int64_t quant_min, quant_max;
  double eps;

  // Returns the parameters for values between the extremes: of the tensor, or of a token if `per_token`.
  Affine choose(const Extremes& extremes) const {
    if (symmetric) return choose_symmetric(extremes, ScalarType::Float, quant_min, quant_max, eps, ScalarType::Char);
    return per_token ? choose_token_affine(extremes.least, extremes.most)
                     : choose_affine(extremes, ScalarType::Float, quant_min, quant_max, eps);
  }
};

// A float32 tensor [rows, depth], quantized to int8 with a scale and a zero point per row, in scratch memory.
struct DynamicRows {
  int64_t rows = 0, depth = 0;
  int8_t* numbers = nullptr;
  float* scales = nullptr;
  int32_t* zeros = nullptr;
};

// Quantizes with choose_qparams[_symmetric].tensor, or with choose_qparams_per_token_[a]symmetric. If there is no
// memory, records the failure and returns false. If a value is NaN, the scales that depend on it are NaN.
bool quantize_rows(KernelRuntimeContext& context, const Tensor& in, const DynamicRange& range, DynamicRows* result);

// Computes dynamic_linear with weights of 8 or 4 bits.
void dynamic_linear(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight, int bits,
                    const Tensor& weight_scales, const std::optional<Tensor>& bias, const DynamicRange& range,
                    const Tensor& out);

}  // namespace rushlight::quantized
