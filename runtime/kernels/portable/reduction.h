// Portable kernels of reductions, scans, sorts, searches and normalizations. A kernel has the arguments of its
// operator's out variant, checks them, sets the shapes of the results and computes the values of eager PyTorch. On
// failure it records an error in `context`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "rushlight/core/evalue.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::portable {

void all_all_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void all_dims_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
                  bool keepdim, Tensor& out);
void all_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool keepdim, Tensor& out);
void amax_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, bool keepdim, Tensor& out);
void amin_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, bool keepdim, Tensor& out);
void aminmax_out(KernelRuntimeContext& context, const Tensor& in, std::optional<int64_t> dim, bool keepdim, Tensor& min,
                 Tensor& max);
void any_all_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void any_dims_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
                  bool keepdim, Tensor& out);
void any_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool keepdim, Tensor& out);
void argmax_out(KernelRuntimeContext& context, const Tensor& in, std::optional<int64_t> dim, bool keepdim, Tensor& out);
void argmin_out(KernelRuntimeContext& context, const Tensor& in, std::optional<int64_t> dim, bool keepdim, Tensor& out);
void argsort_stable_out(KernelRuntimeContext& context, const Tensor& in, bool stable, int64_t dim, bool descending,
                        Tensor& out);
void bincount_out(KernelRuntimeContext& context, const Tensor& in, const std::optional<Tensor>& weights,
                  int64_t minlength, Tensor& out);
void bucketize_scalar_out(KernelRuntimeContext& context, const Scalar& number, const Tensor& boundaries, bool out_int32,
                          bool right, Tensor& out);
void bucketize_tensor_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& boundaries, bool out_int32,
                          bool right, Tensor& out);
void cdist_forward_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, double p,
                       std::optional<int64_t> compute_mode, Tensor& out);
void count_nonzero_dim_int_list_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims,
                                    Tensor& out);
void count_nonzero_out(KernelRuntimeContext& context, const Tensor& in, std::optional<int64_t> dim, Tensor& out);
void cummax_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, Tensor& values, Tensor& indices);
void cummin_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, Tensor& values, Tensor& indices);
void cumprod_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, std::optional<ScalarType> dtype,
                 Tensor& out);
void cumsum_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, std::optional<ScalarType> dtype,
                Tensor& out);
void histc_out(KernelRuntimeContext& context, const Tensor& in, int64_t bins, const Scalar& min, const Scalar& max,
               Tensor& out);
void kthvalue_values(KernelRuntimeContext& context, const Tensor& in, int64_t k, int64_t dim, bool keepdim,
                     Tensor& values, Tensor& indices);
void linalg_vector_norm_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& ord,
                            std::optional<Span<const int64_t>> dims, bool keepdim, std::optional<ScalarType> dtype,
                            Tensor& out);
void log_softmax_backward_data_out(KernelRuntimeContext& context, const Tensor& grad, const Tensor& output, int64_t dim,
                                   ScalarType input_dtype, Tensor& out);
void log_softmax_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool half_to_float, Tensor& out);
void logcumsumexp_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, Tensor& out);
void logsumexp_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, bool keepdim,
                   Tensor& out);
void max_dim_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool keepdim, Tensor& values,
                 Tensor& indices);
void max_unary_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void mean_dtype_out(KernelRuntimeContext& context, const Tensor& in, std::optional<ScalarType> dtype, Tensor& out);
void mean_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims, bool keepdim,
              std::optional<ScalarType> dtype, Tensor& out);
void median_dim_values(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool keepdim, Tensor& values,
                       Tensor& indices);
void median_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void min_dim_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool keepdim, Tensor& values,
                 Tensor& indices);
void min_unary_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void mode_values(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool keepdim, Tensor& values,
                 Tensor& indices);
void nansum_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims, bool keepdim,
                std::optional<ScalarType> dtype, Tensor& out);
void native_batch_norm_legit_no_stats_out(KernelRuntimeContext& context, const Tensor& in,
                                          const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                                          bool training, double momentum, double eps, Tensor& out, Tensor& save_mean,
                                          Tensor& save_invstd);
void native_batch_norm_legit_no_training_out(KernelRuntimeContext& context, const Tensor& in,
                                             const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                                             const Tensor& running_mean, const Tensor& running_var, double momentum,
                                             double eps, Tensor& out, Tensor& save_mean, Tensor& save_invstd);
void native_batch_norm_legit_out(KernelRuntimeContext& context, const Tensor& in, const std::optional<Tensor>& weight,
                                 const std::optional<Tensor>& bias, Tensor& running_mean, Tensor& running_var,
                                 bool training, double momentum, double eps, Tensor& out, Tensor& save_mean,
                                 Tensor& save_invstd);
void native_group_norm_backward_out(KernelRuntimeContext& context, const Tensor& grad, const Tensor& in,
                                    const Tensor& mean, const Tensor& rstd, const std::optional<Tensor>& weight,
                                    int64_t n, int64_t c, int64_t spatial, int64_t group, Span<const bool> output_mask,
                                    Tensor& grad_in, Tensor& grad_weight, Tensor& grad_bias);
void native_group_norm_out(KernelRuntimeContext& context, const Tensor& in, const std::optional<Tensor>& weight,
                           const std::optional<Tensor>& bias, int64_t n, int64_t c, int64_t spatial, int64_t group,
                           double eps, Tensor& out, Tensor& mean, Tensor& rstd);
void native_layer_norm_backward_out(KernelRuntimeContext& context, const Tensor& grad, const Tensor& in,
                                    Span<const int64_t> normalized_shape, const Tensor& mean, const Tensor& rstd,
                                    const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                                    Span<const bool> output_mask, Tensor& grad_in, Tensor& grad_weight,
                                    Tensor& grad_bias);
void native_layer_norm_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> normalized_shape,
                           const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, double eps,
                           Tensor& out, Tensor& mean, Tensor& rstd);
void norm_out(KernelRuntimeContext& context, const Tensor& in, const std::optional<Scalar>& p, Span<const int64_t> dims,
              bool keepdim, Tensor& out);
void norm_scalar_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& p, Tensor& out);
void pdist_forward_out(KernelRuntimeContext& context, const Tensor& in, double p, Tensor& out);
void prod_int_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool keepdim,
                  std::optional<ScalarType> dtype, Tensor& out);
void prod_out(KernelRuntimeContext& context, const Tensor& in, std::optional<ScalarType> dtype, Tensor& out);
void searchsorted_tensor_out(KernelRuntimeContext& context, const Tensor& sorted, const Tensor& in, bool out_int32,
                             bool right, std::optional<std::string_view> side, const std::optional<Tensor>& sorter,
                             Tensor& out);
void softmax_backward_data_out(KernelRuntimeContext& context, const Tensor& grad, const Tensor& output, int64_t dim,
                               ScalarType input_dtype, Tensor& out);
void softmax_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool half_to_float, Tensor& out);
void sort_values(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool descending, Tensor& values,
                 Tensor& indices);
void sort_values_stable(KernelRuntimeContext& context, const Tensor& in, std::optional<bool> stable, int64_t dim,
                        bool descending, Tensor& values, Tensor& indices);
void std_correction_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
                        const std::optional<Scalar>& correction, bool keepdim, Tensor& out);
void std_mean_correction_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
                             const std::optional<Scalar>& correction, bool keepdim, Tensor& std, Tensor& mean);
void std_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims, bool unbiased,
             bool keepdim, Tensor& out);
void sum_int_list_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
                      bool keepdim, std::optional<ScalarType> dtype, Tensor& out);
void sum_out(KernelRuntimeContext& context, const Tensor& in, std::optional<ScalarType> dtype, Tensor& out);
void topk_values(KernelRuntimeContext& context, const Tensor& in, int64_t k, int64_t dim, bool largest, bool sorted,
                 Tensor& values, Tensor& indices);
void unique2_out(KernelRuntimeContext& context, const Tensor& in, bool sorted, bool return_inverse, bool return_counts,
                 Tensor& values, Tensor& inverse, Tensor& counts);
void unique_consecutive_out(KernelRuntimeContext& context, const Tensor& in, bool return_inverse, bool return_counts,
                            std::optional<int64_t> dim, Tensor& values, Tensor& inverse, Tensor& counts);
void var_correction_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
                        const std::optional<Scalar>& correction, bool keepdim, Tensor& out);
void var_mean_correction_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
                             const std::optional<Scalar>& correction, bool keepdim, Tensor& var, Tensor& mean);
void var_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims, bool unbiased,
             bool keepdim, Tensor& out);

}  // namespace rushlight::portable
