#include "core/quantization_params.h"

#include <algorithm>

#include "rushlight/core/half.h"

namespace rushlight::quantized {

namespace {

float rounded_to(ScalarType type, float value) {
  if (type == ScalarType::Half) return Half(value);
  if (type == ScalarType::BFloat16) return BFloat16(value);
  return value;
}

}  // namespace

Affine choose_affine(const Extremes& extremes, ScalarType in, int64_t quant_min, int64_t quant_max, double eps) {
  const float least = std::min(extremes.least, 0.0f), most = std::max(extremes.most, 0.0f);
  const float span = rounded_to(in, most - least);
  const float scale =
      std::max(rounded_to(in, span / static_cast<float>(quant_max - quant_min)), static_cast<float>(eps));
  const float low = std::nearbyint(least / scale);
  // A value outside the range of int32 becomes the smallest int32, as in eager PyTorch.
  const int64_t below = low >= -2147483648.0f && low < 2147483648.0f ? static_cast<int64_t>(low) : INT32_MIN;
  return {scale, std::clamp(quant_min - below, quant_min, quant_max)};
}

Affine choose_symmetric(const Extremes& extremes, ScalarType in, int64_t quant_min, int64_t quant_max, double eps,
                        ScalarType dtype) {
  const float most = std::max(-std::min(extremes.least, 0.0f), std::max(extremes.most, 0.0f));
  const float half_range = static_cast<float>(static_cast<double>(quant_max - quant_min) / 2);
  const float scale = std::max(rounded_to(in, most / half_range), static_cast<float>(eps));
  return {scale, dtype == ScalarType::Byte ? 128 : 0};
}

Affine choose_token_affine(float least, float most) {
  const Token<float> token = choose_token(least, most);
  return {token.scale, token.zero == token.zero ? static_cast<int64_t>(token.zero) : 0};
}

}  // namespace rushlight::quantized
