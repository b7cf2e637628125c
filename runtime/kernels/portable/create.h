// Portable kernels of operators that create tensors. A kernel has the arguments of its operator's out variant, checks
// them, sets the shapes of the results and computes the values of eager PyTorch. On failure it records an error in
// `context`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "rushlight/core/evalue.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::portable {

void full_out(KernelRuntimeContext& context, Span<const int64_t> sizes, const Scalar& value, Tensor& out);
void full_like_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& value,
                   std::optional<int64_t> memory_format, Tensor& out);
void zeros_out(KernelRuntimeContext& context, Span<const int64_t> sizes, Tensor& out);
void ones_out(KernelRuntimeContext& context, Span<const int64_t> sizes, Tensor& out);
void empty_out(KernelRuntimeContext& context, Span<const int64_t> sizes, std::optional<int64_t> memory_format,
               Tensor& out);
void scalar_tensor_out(KernelRuntimeContext& context, const Scalar& value, Tensor& out);
void arange_start_out(KernelRuntimeContext& context, const Scalar& start, const Scalar& end, const Scalar& step,
                      Tensor& out);
void arange_out(KernelRuntimeContext& context, const Scalar& end, Tensor& out);
void linspace_out(KernelRuntimeContext& context, const Scalar& start, const Scalar& end, int64_t steps, Tensor& out);
void eye_m_out(KernelRuntimeContext& context, int64_t n, int64_t m, Tensor& out);
void eye_out(KernelRuntimeContext& context, int64_t n, Tensor& out);
void rand_out(KernelRuntimeContext& context, Span<const int64_t> sizes, Tensor& out);
void randn_out(KernelRuntimeContext& context, Span<const int64_t> sizes, Tensor& out);
void randperm_out(KernelRuntimeContext& context, int64_t n, Tensor& out);
void empty_strided_out(KernelRuntimeContext& context, Span<const int64_t> sizes, Span<const int64_t> strides,
                       Tensor& out);
void rand_like_out(KernelRuntimeContext& context, const Tensor& in, std::optional<int64_t> memory_format, Tensor& out);
void randn_like_out(KernelRuntimeContext& context, const Tensor& in, std::optional<int64_t> memory_format, Tensor& out);
void randint_low_out(KernelRuntimeContext& context, int64_t low, int64_t high, Span<const int64_t> sizes, Tensor& out);
void randint_out(KernelRuntimeContext& context, int64_t high, Span<const int64_t> sizes, Tensor& out);
void tril_indices_out(KernelRuntimeContext& context, int64_t rows, int64_t columns, int64_t offset, Tensor& out);
void triu_indices_out(KernelRuntimeContext& context, int64_t rows, int64_t columns, int64_t offset, Tensor& out);

}  // namespace rushlight::portable
