#pragma once

#include <cmath>
#include <cstdint>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::quantized {

struct Extremes {
  float least, most;
};

// Of all elements of a tensor of float32, float16 or bfloat16, NaN if one is; false and the failure recorded if it has
// none.
bool extremes_of(KernelRuntimeContext& context, const Tensor& in, Extremes* extremes);

// Scale and zero point of one range of numbers.
struct Affine {
  double scale;
  int64_t zero;
};
Affine choose_affine(const Extremes& extremes, ScalarType in, int64_t quant_min, int64_t quant_max, double eps);
Affine choose_symmetric(const Extremes& extremes, ScalarType in, int64_t quant_min, int64_t quant_max, double eps,
                        ScalarType dtype);

// What choose_qparams_per_token_asymmetric gives a float32 token; least <= 0 <= most, or both are NaN.
Affine choose_token_affine(float least, float most);
// By what sums of such quantized numbers are multiplied: a sum of 0 times infinity is NaN.
inline float scale_of_sums(const Affine& chosen) {
  return std::isfinite(chosen.scale) ? static_cast<float>(chosen.scale) : NAN;
}

// Sets the one element of each, resized to [1].
void set_chosen(KernelRuntimeContext& context, const Affine& chosen, const Tensor& scale, const Tensor& zero_point);
// value into element `index` of a tensor in row-major order.
void set_number(const Tensor& tensor, int64_t index, double value);

// Resizes to the shape of `in` with one element in the last dim; gives the number of tokens, or -1 and the failure
// recorded.
int64_t resize_for_tokens(KernelRuntimeContext& context, const Tensor& in, const Tensor& scale,
                          const Tensor& zero_point);

}  // namespace rushlight::quantized
