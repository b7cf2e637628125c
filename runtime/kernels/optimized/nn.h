// A kernel returns false if it does not support the arguments; then the portable kernel of the same name runs.
#pragma once

#include <cstdint>
#include <optional>

#include "rushlight/core/evalue.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::optimized {

bool adaptive_avg_pool2d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                             Tensor& out);
bool addmm_out(KernelRuntimeContext& context, const Tensor& summand, const Tensor& a, const Tensor& b,
               const Scalar& beta, const Scalar& alpha, Tensor& out);
bool avg_pool2d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> kernel,
                    Span<const int64_t> stride, Span<const int64_t> padding, bool ceil_mode, bool count_include_pad,
                    std::optional<int64_t> divisor, Tensor& out);
bool baddbmm_out(KernelRuntimeContext& context, const Tensor& summand, const Tensor& a, const Tensor& b,
                 const Scalar& beta, const Scalar& alpha, Tensor& out);
bool bmm_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
bool convolution_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight,
                     const std::optional<Tensor>& bias, Span<const int64_t> stride, Span<const int64_t> padding,
                     Span<const int64_t> dilation, bool transposed, Span<const int64_t> output_padding, int64_t groups,
                     Tensor& out);
void fft_c2c_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, int64_t normalization,
                 bool forward, Tensor& out);
void fft_c2r_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, int64_t normalization,
                 int64_t last_dim_size, Tensor& out);
void fft_r2c_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, int64_t normalization,
                 bool onesided, Tensor& out);
bool linear_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight,
                const std::optional<Tensor>& bias, Tensor& out);
bool max_pool2d_with_indices_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> kernel,
                                 Span<const int64_t> stride, Span<const int64_t> padding, Span<const int64_t> dilation,
                                 bool ceil_mode, Tensor& out, Tensor& indices);
bool mm_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);

}  // namespace rushlight::optimized
