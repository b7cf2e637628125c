// A kernel returns false if it does not support the arguments; then the portable kernel of the same name runs.
#pragma once

#include <cstdint>
#include <optional>

#include "rushlight/core/evalue.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::optimized {

bool all_all_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool all_dims_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
                  bool keepdim, Tensor& out);
bool all_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool keepdim, Tensor& out);
bool amax_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, bool keepdim, Tensor& out);
bool amin_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, bool keepdim, Tensor& out);
bool any_all_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool any_dims_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
                  bool keepdim, Tensor& out);
bool any_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool keepdim, Tensor& out);
bool argmax_out(KernelRuntimeContext& context, const Tensor& in, std::optional<int64_t> dim, bool keepdim, Tensor& out);
bool argmin_out(KernelRuntimeContext& context, const Tensor& in, std::optional<int64_t> dim, bool keepdim, Tensor& out);
bool cdist_forward_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, double p,
                       std::optional<int64_t> mode, Tensor& out);
bool pdist_forward_out(KernelRuntimeContext& context, const Tensor& in, double p, Tensor& out);
bool linalg_vector_norm_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& ord,
                            std::optional<Span<const int64_t>> dims, bool keepdim, std::optional<ScalarType> dtype,
                            Tensor& out);
bool log_softmax_backward_data_out(KernelRuntimeContext& context, const Tensor& grad, const Tensor& output, int64_t dim,
                                   ScalarType input_dtype, Tensor& out);
bool log_softmax_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool half_to_float, Tensor& out);
bool logsumexp_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, bool keepdim,
                   Tensor& out);
bool max_unary_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool mean_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims, bool keepdim,
              std::optional<ScalarType> dtype, Tensor& out);
bool min_unary_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
bool native_batch_norm_legit_no_training_out(KernelRuntimeContext& context, const Tensor& in,
                                             const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                                             const Tensor& running_mean, const Tensor& running_var, double momentum,
                                             double eps, Tensor& out, Tensor& save_mean, Tensor& save_invstd);
bool native_group_norm_out(KernelRuntimeContext& context, const Tensor& in, const std::optional<Tensor>& weight,
                           const std::optional<Tensor>& bias, int64_t n, int64_t c, int64_t spatial, int64_t group,
                           double eps, Tensor& out, Tensor& mean, Tensor& rstd);
bool native_layer_norm_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> normalized_shape,
                           const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, double eps,
                           Tensor& out, Tensor& mean, Tensor& rstd);
bool prod_int_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool keepdim,
                  std::optional<ScalarType> dtype, Tensor& out);
bool prod_out(KernelRuntimeContext& context, const Tensor& in, std::optional<ScalarType> dtype, Tensor& out);
bool softmax_backward_data_out(KernelRuntimeContext& context, const Tensor& grad, const Tensor& output, int64_t dim,
                               ScalarType input_dtype, Tensor& out);
bool softmax_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool half_to_float, Tensor& out);
bool sum_int_list_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
                      bool keepdim, std::optional<ScalarType> dtype, Tensor& out);
bool topk_values(KernelRuntimeContext& context, const Tensor& in, int64_t k, int64_t dim, bool largest, bool sorted,
                 Tensor& values, Tensor& indices);

}  // namespace rushlight::optimized
