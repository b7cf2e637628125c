// Portable kernels of elementwise operators. A kernel has the arguments of its operator's out variant, checks them,
// sets the shapes of the results and computes the values of eager PyTorch. On failure it records an error in `context`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "rushlight/core/evalue.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::portable {

void abs_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void acos_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void acosh_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void add_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, const Scalar& alpha, Tensor& out);
void add_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, const Scalar& alpha, Tensor& out);
void addcdiv_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& a, const Tensor& b, const Scalar& value,
                 Tensor& out);
void addcmul_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& a, const Tensor& b, const Scalar& value,
                 Tensor& out);
void angle_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void asin_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void asinh_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void atan2_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void atan_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void atanh_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void bitwise_and_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
void bitwise_and_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void bitwise_left_shift_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void bitwise_left_shift_tensor_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
void bitwise_not_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void bitwise_or_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
void bitwise_or_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void bitwise_right_shift_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void bitwise_right_shift_tensor_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b,
                                           Tensor& out);
void bitwise_xor_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
void bitwise_xor_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void ceil_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void celu_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& alpha, Tensor& out);
void clamp_max_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& bound, Tensor& out);
void clamp_max_tensor_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& bound, Tensor& out);
void clamp_min_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& bound, Tensor& out);
void clamp_min_tensor_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& bound, Tensor& out);
void clamp_out(KernelRuntimeContext& context, const Tensor& in, const std::optional<Scalar>& min,
               const std::optional<Scalar>& max, Tensor& out);
void clamp_tensor_out(KernelRuntimeContext& context, const Tensor& in, const std::optional<Tensor>& min,
                      const std::optional<Tensor>& max, Tensor& out);
void clone_out(KernelRuntimeContext& context, const Tensor& in, std::optional<int64_t> memory_format, Tensor& out);
void complex_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void conj_physical_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void copy_(KernelRuntimeContext& context, Tensor& in, const Tensor& source, bool non_blocking);
void copy_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& source, bool non_blocking, Tensor& out);
void copysign_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void copysign_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
void cos_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void cosh_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void detach_copy_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void digamma_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void div_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void div_out_mode(KernelRuntimeContext& context, const Tensor& a, const Tensor& b,
                  std::optional<std::string_view> rounding_mode, Tensor& out);
void div_scalar_mode_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b,
                         std::optional<std::string_view> rounding_mode, Tensor& out);
void div_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
void elu_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& alpha, const Scalar& scale,
             const Scalar& input_scale, Tensor& out);
void eq_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
void eq_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void erf_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void erfc_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void erfinv_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void exp2_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void exp_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void expm1_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void fill_scalar_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& value, Tensor& out);
void fill_tensor_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& value, Tensor& out);
void floor_divide_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void floor_divide_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
void floor_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void fmax_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void fmin_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void fmod_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
void fmod_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void frac_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void gcd_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void ge_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
void ge_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void gelu_out(KernelRuntimeContext& context, const Tensor& in, std::string_view approximate, Tensor& out);
void glu_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, Tensor& out);
void gt_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
void gt_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void hardshrink_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& lambda, Tensor& out);
void hardsigmoid_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void hardswish_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void hardtanh_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& min, const Scalar& max, Tensor& out);
void heaviside_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void hypot_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void isinf_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void isnan_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void isneginf_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void isposinf_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void lcm_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void le_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
void le_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void leaky_relu_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& slope, Tensor& out);
void lerp_scalar_out(KernelRuntimeContext& context, const Tensor& from, const Tensor& to, const Scalar& weight,
                     Tensor& out);
void lerp_tensor_out(KernelRuntimeContext& context, const Tensor& from, const Tensor& to, const Tensor& weight,
                     Tensor& out);
void lgamma_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void lift_fresh_copy_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void log10_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void log1p_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void log2_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void log_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void log_sigmoid_forward_output(KernelRuntimeContext& context, const Tensor& in, Tensor& out, Tensor& buffer);
void logaddexp2_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void logaddexp_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void logical_and_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void logical_not_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void logical_or_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void logical_xor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void logit_out(KernelRuntimeContext& context, const Tensor& in, std::optional<double> eps, Tensor& out);
void lt_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
void lt_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void masked_fill_scalar_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& mask, const Scalar& value,
                            Tensor& out);
void masked_fill_tensor_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& mask, const Tensor& value,
                            Tensor& out);
void maximum_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void minimum_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void mish_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void mul_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void mul_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
void nan_to_num_out(KernelRuntimeContext& context, const Tensor& in, std::optional<double> nan,
                    std::optional<double> posinf, std::optional<double> neginf, Tensor& out);
void native_dropout_out(KernelRuntimeContext& context, const Tensor& in, double p, std::optional<bool> train,
                        Tensor& out, Tensor& mask);
void ne_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
void ne_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void neg_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void nextafter_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void polar_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void pow_scalar_out(KernelRuntimeContext& context, const Scalar& a, const Tensor& b, Tensor& out);
void pow_tensor_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
void pow_tensor_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void reciprocal_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void relu_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void remainder_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
void remainder_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void round_decimals_out(KernelRuntimeContext& context, const Tensor& in, int64_t decimals, Tensor& out);
void round_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void rsqrt_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void rsub_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, const Scalar& alpha, Tensor& out);
void rsub_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, const Scalar& alpha, Tensor& out);
void sgn_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void sigmoid_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void sign_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void signbit_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void silu_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void sin_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void sinh_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void softplus_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& beta, const Scalar& threshold,
                  Tensor& out);
void softshrink_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& lambda, Tensor& out);
void sqrt_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void square_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void sub_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, const Scalar& alpha, Tensor& out);
void sub_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, const Scalar& alpha, Tensor& out);
void tan_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void tanh_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void threshold_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& threshold, const Scalar& value,
                   Tensor& out);
void to_copy_out(KernelRuntimeContext& context, const Tensor& in, bool non_blocking,
                 std::optional<int64_t> memory_format, Tensor& out);
void trunc_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void where_self_out(KernelRuntimeContext& context, const Tensor& condition, const Tensor& a, const Tensor& b,
                    Tensor& out);
void xlogy_scalar_other_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out);
void xlogy_scalar_self_out(KernelRuntimeContext& context, const Scalar& a, const Tensor& b, Tensor& out);
void xlogy_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void i0_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void special_i0e_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void special_i1_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void special_i1e_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void special_modified_bessel_i0_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void special_modified_bessel_i1_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void special_modified_bessel_k0_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void special_modified_bessel_k1_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void special_scaled_modified_bessel_k0_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void special_scaled_modified_bessel_k1_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void special_bessel_j0_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void special_bessel_j1_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void special_bessel_y0_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void special_bessel_y1_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void special_spherical_bessel_j0_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void special_erfcx_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void special_ndtri_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void igamma_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& x, Tensor& out);
void igammac_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& x, Tensor& out);
void polygamma_out(KernelRuntimeContext& context, int64_t n, const Tensor& in, Tensor& out);
void special_zeta_other_scalar_out(KernelRuntimeContext& context, const Tensor& s, const Scalar& q, Tensor& out);
void special_zeta_out(KernelRuntimeContext& context, const Tensor& s, const Tensor& q, Tensor& out);
void special_zeta_self_scalar_out(KernelRuntimeContext& context, const Scalar& s, const Tensor& q, Tensor& out);
void frexp_out(KernelRuntimeContext& context, const Tensor& in, Tensor& mantissa, Tensor& exponent);

}  // namespace rushlight::portable
