// Quantization parameters (scale and zero point) from the range of the values: real = (quantized - zero) * scale.
// Kernels and backend steps that choose these parameters at run time compute the same numbers as eager PyTorch.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "rushlight/core/scalar_type.h"

namespace rushlight::quantized {

// The smallest and the largest value of a range; both are NaN if any value is NaN.
struct Extremes {
  float least, most;
};

// The scale and zero point of one range of values.
struct Affine {
  double scale;
  int64_t zero;
};

// Return quantization parameters for values of dtype `in`. Each operation is rounded to `in`, as in eager PyTorch.
Affine choose_affine(const Extremes& extremes, ScalarType in, int64_t quant_min, int64_t quant_max, double eps);
Affine choose_symmetric(const Extremes& extremes, ScalarType in, int64_t quant_min, int64_t quant_max, double eps,
                        ScalarType dtype);

template <typename T>
struct Token {
  T scale;
  T zero;
};

// Returns what choose_qparams_per_token_asymmetric computes for a token whose values are in [least, most], where least
// <= 0 <= most. Every operation is rounded to T, as in eager PyTorch.
template <typename T>
Token<T> choose_token(T least, T most) {
  using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const Wide low = least, high = most;
  const T span = T(high - low);
  T scale = T(static_cast<Wide>(span) / 255);
  const T smallest = T(static_cast<Wide>(std::numeric_limits<float>::epsilon()));
  if (static_cast<Wide>(scale) < static_cast<Wide>(smallest)) scale = smallest;
  const T below = T(low / static_cast<Wide>(scale)), above = T(high / static_cast<Wide>(scale));
  const T below_error = T(static_cast<Wide>(-128) + static_cast<Wide>(below));
  const T above_error = T(static_cast<Wide>(127) + static_cast<Wide>(above));
  const T error = T(static_cast<Wide>(below_error) + static_cast<Wide>(above_error));
  const Wide zero = static_cast<Wide>(error) > 0 ? static_cast<Wide>(T(-128 - static_cast<Wide>(below)))
                                                 : static_cast<Wide>(T(127 - static_cast<Wide>(above)));
  const Wide clamped = zero < -128 ? static_cast<Wide>(-128) : (zero > 127 ? static_cast<Wide>(127) : zero);
  return {scale, T(std::nearbyint(clamped))};
}

// Does the same for a float32 token. Both arguments are NaN if the token contains NaN.
Affine choose_token_affine(float least, float most);

// Returns the scale by which sums of quantized numbers are multiplied. It is NaN if the scale is infinite, because 0
// times infinity is NaN.
inline float scale_of_sums(const Affine& chosen) {
  return std::isfinite(chosen.scale) ? static_cast<float>(chosen.scale) : NAN;
}

}  // namespace rushlight::quantized
