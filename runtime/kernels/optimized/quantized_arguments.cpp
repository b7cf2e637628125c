#include "kernels/optimized/quantized_arguments.h"

#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/bytes.h"
#include "kernels/shared/axes.h"

namespace rushlight::optimized {

bool is_row_major_bytes(const Tensor& tensor) { return quantized::is_byte(tensor) && is_row_major(tensor); }

const float* floats_of(KernelRuntimeContext& context, const Tensor& tensor, int64_t n) {
  const double* const numbers = quantized::elements_as_double(context, tensor);
  float* const floats = context.allocate_temporary_array<float>(static_cast<size_t>(n + 1));
  if (numbers == nullptr || floats == nullptr) return nullptr;
  const int64_t step = tensor.numel() == 1 ? 0 : 1;
  for (int64_t i = 0; i < n; ++i) floats[i] = static_cast<float>(numbers[i * step]);
  return floats;
}

bool requantize_to(KernelRuntimeContext& context, const QuantizedResult& r, int64_t n,
                   microkernels::Requantize* requantize) {
  const float* const scales = floats_of(context, r.weight_scales, n);
  const float* const bias = r.bias ? floats_of(context, *r.bias, n) : nullptr;
  float* const multiplier = context.allocate_temporary_array<float>(static_cast<size_t>(n + 1));
  float* const offset = context.allocate_temporary_array<float>(static_cast<size_t>(n + 1));
  if (context.failed()) return false;
  const float inverse = static_cast<float>(1.0 / r.scale);
  for (int64_t j = 0; j < n; ++j) {
    multiplier[j] = scales[j] * static_cast<float>(r.in_scale) * inverse;
    offset[j] = bias ? bias[j] * inverse : 0.0f;
  }
  *requantize = {nullptr,
                 multiplier,
                 bias ? offset : nullptr,
                 static_cast<int32_t>(r.zero),
                 static_cast<int32_t>(r.quant_min),
                 static_cast<int32_t>(r.quant_max)};
  return true;
}

}  // namespace rushlight::optimized
