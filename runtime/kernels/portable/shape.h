// Portable kernels of views, copies, concatenations and padding. A kernel has the arguments of its operator's out
// variant, checks them, sets the shapes of the results and computes the values of eager PyTorch. On failure it records
// an error in `context`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "rushlight/core/evalue.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::portable {

void alias_copy_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void as_strided_copy_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> sizes,
                         Span<const int64_t> strides, std::optional<int64_t> storage_offset, Tensor& out);
void cat_out(KernelRuntimeContext& context, Span<const Tensor> tensors, int64_t dim, Tensor& out);
void clone_dim_order_out(KernelRuntimeContext& context, const Tensor& in, bool non_blocking,
                         std::optional<Span<const int64_t>> dim_order, Tensor& out);
void constant_pad_nd_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> pad, const Scalar& value,
                         Tensor& out);
void h2d_copy_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void d2h_copy_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void diagonal_copy_out(KernelRuntimeContext& context, const Tensor& in, int64_t offset, int64_t dim1, int64_t dim2,
                       Tensor& out);
void empty_dim_order_out(KernelRuntimeContext& context, Span<const int64_t> sizes,
                         std::optional<Span<const int64_t>> dim_order, Tensor& out);
void expand_copy_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> sizes, bool implicit,
                     Tensor& out);
void flip_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, Tensor& out);
void narrow_copy_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, int64_t start, int64_t length,
                     Tensor& out);
void permute_copy_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, Tensor& out);
void pixel_shuffle_out(KernelRuntimeContext& context, const Tensor& in, int64_t factor, Tensor& out);
void pixel_unshuffle_out(KernelRuntimeContext& context, const Tensor& in, int64_t factor, Tensor& out);
void repeat_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> repeats, Tensor& out);
void repeat_interleave_Tensor_out(KernelRuntimeContext& context, const Tensor& repeats,
                                  std::optional<int64_t> output_size, Tensor& out);
void roll_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> shifts, Span<const int64_t> dims,
              Tensor& out);
void select_copy_int_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, int64_t index, Tensor& out);
void select_scatter_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& src, int64_t dim, int64_t index,
                        Tensor& out);
void slice_copy_Tensor_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, std::optional<int64_t> start,
                           std::optional<int64_t> end, int64_t step, Tensor& out);
void slice_scatter_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& src, int64_t dim,
                       std::optional<int64_t> start, std::optional<int64_t> end, int64_t step, Tensor& out);
void split_copy_Tensor_out(KernelRuntimeContext& context, const Tensor& in, int64_t split_size, int64_t dim,
                           Span<Tensor> out);
void split_with_sizes_copy_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> split_sizes,
                               int64_t dim, Span<Tensor> out);
void squeeze_copy_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void squeeze_copy_dim_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, Tensor& out);
void squeeze_copy_dims_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, Tensor& out);
void stack_out(KernelRuntimeContext& context, Span<const Tensor> tensors, int64_t dim, Tensor& out);
void t_copy_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void to_dim_order_copy_out(KernelRuntimeContext& context, const Tensor& in, bool non_blocking,
                           std::optional<Span<const int64_t>> dim_order, Tensor& out);
void transpose_copy_int_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim0, int64_t dim1, Tensor& out);
void tril_out(KernelRuntimeContext& context, const Tensor& in, int64_t diagonal, Tensor& out);
void triu_out(KernelRuntimeContext& context, const Tensor& in, int64_t diagonal, Tensor& out);
void unbind_copy_int_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, Span<Tensor> out);
void unfold_copy_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, int64_t size, int64_t step,
                     Tensor& out);
void unsqueeze_copy_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, Tensor& out);
void view_as_complex_copy_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void view_as_real_copy_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void view_copy_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> sizes, Tensor& out);
void view_copy_dtype_out(KernelRuntimeContext& context, const Tensor& in, ScalarType dtype, Tensor& out);
void reflection_pad1d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> padding, Tensor& out);
void reflection_pad2d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> padding, Tensor& out);
void reflection_pad3d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> padding, Tensor& out);
void replication_pad1d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> padding, Tensor& out);
void replication_pad2d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> padding, Tensor& out);
void replication_pad3d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> padding, Tensor& out);
void diagonal_scatter_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& src, int64_t offset,
                          int64_t dim1, int64_t dim2, Tensor& out);
void as_strided_scatter_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& src,
                            Span<const int64_t> sizes, Span<const int64_t> strides,
                            std::optional<int64_t> storage_offset, Tensor& out);

}  // namespace rushlight::portable
