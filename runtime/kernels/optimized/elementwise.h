// A kernel returns false if it does not support the arguments; then the portable kernel of the same name runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "rushlight/core/evalue.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::optimized {

bool abs_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool acos_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool add_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, const Scalar& alpha, Tensor& out);
bool add_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, const Scalar& alpha, Tensor& out);
bool asin_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool atan2_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool atan_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool atanh_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool bitwise_and_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
bool bitwise_and_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool bitwise_not_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool bitwise_or_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
bool bitwise_or_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool bitwise_xor_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
bool bitwise_xor_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool ceil_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool celu_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& alpha, Tensor& out);
bool clamp_out(KernelRuntimeContext& context, const Tensor& in, const std::optional<Scalar>& min,
               const std::optional<Scalar>& max, Tensor& out);
bool clamp_tensor_out(KernelRuntimeContext& context, const Tensor& in, const std::optional<Tensor>& min,
                      const std::optional<Tensor>& max, Tensor& out);
bool cos_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool cosh_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool div_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool div_out_mode(KernelRuntimeContext& context, const Tensor& a, const Tensor& b,
                  std::optional<std::string_view> rounding_mode, Tensor& out);
bool div_scalar_mode_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b,
                         std::optional<std::string_view> rounding_mode, Tensor& out);
bool div_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
bool elu_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& alpha, const Scalar& scale,
             const Scalar& input_scale, Tensor& out);
bool eq_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
bool eq_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool erf_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool erfc_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool erfinv_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool exp2_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool exp_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool expm1_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool floor_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool fmod_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
bool fmod_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool frac_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool ge_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
bool ge_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool gelu_out(KernelRuntimeContext& context, const Tensor& in, std::string_view approximate, Tensor& out);
bool gt_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
bool gt_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool hardsigmoid_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool hardswish_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool hardtanh_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& min, const Scalar& max, Tensor& out);
bool hypot_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool isnan_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool le_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
bool le_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool leaky_relu_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& slope, Tensor& out);
bool log10_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool log1p_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool log2_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool log_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool log_sigmoid_forward_output(KernelRuntimeContext& context, const Tensor& in, Tensor& out, Tensor& buffer);
bool logaddexp2_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool logaddexp_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool logical_and_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool logical_not_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool logical_or_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool logical_xor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool lt_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
bool lt_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool maximum_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool minimum_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool mish_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool mul_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool mul_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
bool nan_to_num_out(KernelRuntimeContext& context, const Tensor& in, std::optional<double> nan,
                    std::optional<double> posinf, std::optional<double> neginf, Tensor& out);
bool ne_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
bool ne_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool neg_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool pow_scalar_out(KernelRuntimeContext& context, const Scalar& a, const Tensor& b, Tensor& out);
bool pow_tensor_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
bool pow_tensor_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool reciprocal_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool relu_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool remainder_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
bool remainder_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool round_decimals_out(KernelRuntimeContext& context, const Tensor& in, int64_t decimals, Tensor& out);
bool round_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool rsqrt_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool rsub_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, const Scalar& alpha, Tensor& out);
bool sgn_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool sigmoid_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool sign_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool silu_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool sin_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool sinh_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool softplus_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& beta, const Scalar& threshold,
                  Tensor& out);
bool special_erfcx_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool sqrt_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool square_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool sub_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, const Scalar& alpha, Tensor& out);
bool sub_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, const Scalar& alpha, Tensor& out);
bool tan_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool tanh_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool trunc_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool where_self_out(KernelRuntimeContext& context, const Tensor& condition, const Tensor& a, const Tensor& b,
                    Tensor& out);

}  // namespace rushlight::optimized
