// Portable kernels of operators with tensors of indices or masks. A kernel has the arguments of its operator's out
// variant, checks them, sets the shapes of the results and computes the values of eager PyTorch. On failure it records
// an error in `context`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "rushlight/core/evalue.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::portable {

void embedding_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& indices, int64_t padding_idx,
                   bool scale_grad_by_freq, bool sparse, Tensor& out);
void gather_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index, bool sparse_grad,
                Tensor& out);
void index_Tensor_out(KernelRuntimeContext& context, const Tensor& in, Span<const std::optional<Tensor>> indices,
                      Tensor& out);
void index_put_(KernelRuntimeContext& context, Tensor& self, Span<const std::optional<Tensor>> indices,
                const Tensor& values, bool accumulate);
void index_put_out(KernelRuntimeContext& context, const Tensor& in, Span<const std::optional<Tensor>> indices,
                   const Tensor& values, bool accumulate, Tensor& out);
void index_select_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index, Tensor& out);
void masked_scatter_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& mask, const Tensor& source,
                        Tensor& out);
void masked_select_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& mask, Tensor& out);
void nonzero_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void scatter_src_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                     const Tensor& src, Tensor& out);
void scatter_value_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                       const Scalar& value, Tensor& out);
void scatter_reduce_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                        const Tensor& src, std::string_view reduce, Tensor& out);
void scatter_value_reduce_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                              const Scalar& value, std::string_view reduce, Tensor& out);
void scatter_add_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                     const Tensor& src, Tensor& out);
void scatter_reduce_two_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                            const Tensor& src, std::string_view reduce, bool include_self, Tensor& out);
void embedding_bag_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& indices,
                       const Tensor& offsets, bool scale_grad_by_freq, int64_t mode, bool sparse,
                       const std::optional<Tensor>& per_sample_weights, bool include_last_offset, int64_t padding_idx,
                       Tensor& out, Tensor& offset2bag, Tensor& bag_size, Tensor& max_indices);
void embedding_dense_backward_out(KernelRuntimeContext& context, const Tensor& grad_output, const Tensor& indices,
                                  int64_t num_weights, int64_t padding_idx, bool scale_grad_by_freq, Tensor& out);
void index_add_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                   const Tensor& source, const Scalar& alpha, Tensor& out);
void index_copy_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                    const Tensor& source, Tensor& out);
void index_fill_int_Scalar_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                               const Scalar& value, Tensor& out);
void index_fill_int_Tensor_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                               const Tensor& value, Tensor& out);
void take_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& index, Tensor& out);

}  // namespace rushlight::portable
