// Portable kernels of matrix products, convolutions, pooling, resampling and Fourier transforms. A kernel has the
// arguments of its operator's out variant, checks them, sets the shapes of the results and computes the values of eager
// PyTorch. On failure it records an error in `context`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "kernels/shared/matmul.h"
#include "rushlight/core/evalue.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::portable {

void mm_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
// Multiplies each row by the matrix of its group. The rows are sorted by group. Group g ends before row ends[g].
void grouped_mm_out(KernelRuntimeContext& context, const Tensor& input, const Tensor& weight, const Tensor& ends,
                    Tensor& out);
void bmm_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out);
void addmm_out(KernelRuntimeContext& context, const Tensor& summand, const Tensor& a, const Tensor& b,
               const Scalar& beta, const Scalar& alpha, Tensor& out);
void baddbmm_out(KernelRuntimeContext& context, const Tensor& summand, const Tensor& a, const Tensor& b,
                 const Scalar& beta, const Scalar& alpha, Tensor& out);
void linear_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight,
                const std::optional<Tensor>& bias, Tensor& out);
void convolution_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight,
                     const std::optional<Tensor>& bias, Span<const int64_t> stride, Span<const int64_t> padding,
                     Span<const int64_t> dilation, bool transposed, Span<const int64_t> output_padding, int64_t groups,
                     Tensor& out);
void convolution_backward_out(KernelRuntimeContext& context, const Tensor& grad_output, const Tensor& in,
                              const Tensor& weight, const std::optional<Span<const int64_t>>& bias_sizes,
                              Span<const int64_t> stride, Span<const int64_t> padding, Span<const int64_t> dilation,
                              bool transposed, Span<const int64_t> output_padding, int64_t groups,
                              Span<const bool> output_mask, Tensor& grad_input, Tensor& grad_weight, Tensor& grad_bias);
void avg_pool1d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> kernel,
                    Span<const int64_t> stride, Span<const int64_t> padding, bool ceil_mode, bool count_include_pad,
                    Tensor& out);
void avg_pool2d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> kernel,
                    Span<const int64_t> stride, Span<const int64_t> padding, bool ceil_mode, bool count_include_pad,
                    std::optional<int64_t> divisor, Tensor& out);
void avg_pool3d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> kernel,
                    Span<const int64_t> stride, Span<const int64_t> padding, bool ceil_mode, bool count_include_pad,
                    std::optional<int64_t> divisor, Tensor& out);
void max_pool2d_with_indices_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> kernel,
                                 Span<const int64_t> stride, Span<const int64_t> padding, Span<const int64_t> dilation,
                                 bool ceil_mode, Tensor& out, Tensor& indices);
void max_pool3d_with_indices_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> kernel,
                                 Span<const int64_t> stride, Span<const int64_t> padding, Span<const int64_t> dilation,
                                 bool ceil_mode, Tensor& out, Tensor& indices);
void adaptive_avg_pool1d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                             Tensor& out);
void adaptive_avg_pool2d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                             Tensor& out);
void adaptive_avg_pool3d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                             Tensor& out);
void upsample_nearest1d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                            std::optional<double> scale, Tensor& out);
void upsample_nearest_exact1d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                                  std::optional<double> scale, Tensor& out);
void upsample_nearest2d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                            std::optional<double> scale_h, std::optional<double> scale_w, Tensor& out);
void upsample_nearest2d_vec_out(KernelRuntimeContext& context, const Tensor& in,
                                std::optional<Span<const int64_t>> output_size,
                                std::optional<Span<const double>> scale_factors, Tensor& out);
void upsample_nearest_exact2d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                                  std::optional<double> scale_h, std::optional<double> scale_w, Tensor& out);
void upsample_nearest3d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                            std::optional<double> scale_d, std::optional<double> scale_h, std::optional<double> scale_w,
                            Tensor& out);
void upsample_nearest_exact3d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                                  std::optional<double> scale_d, std::optional<double> scale_h,
                                  std::optional<double> scale_w, Tensor& out);
void upsample_linear1d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                           bool align_corners, std::optional<double> scale, Tensor& out);
void upsample_bilinear2d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                             bool align_corners, std::optional<double> scale_h, std::optional<double> scale_w,
                             Tensor& out);
void upsample_bilinear2d_vec_out(KernelRuntimeContext& context, const Tensor& in,
                                 std::optional<Span<const int64_t>> output_size, bool align_corners,
                                 std::optional<Span<const double>> scale_factors, Tensor& out);
void upsample_trilinear3d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                              bool align_corners, std::optional<double> scale_d, std::optional<double> scale_h,
                              std::optional<double> scale_w, Tensor& out);
void upsample_bicubic2d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                            bool align_corners, std::optional<double> scale_h, std::optional<double> scale_w,
                            Tensor& out);
void upsample_bilinear2d_aa_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                                bool align_corners, std::optional<double> scale_h, std::optional<double> scale_w,
                                Tensor& out);
void upsample_bicubic2d_aa_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                               bool align_corners, std::optional<double> scale_h, std::optional<double> scale_w,
                               Tensor& out);
void grid_sampler_2d_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& grid,
                         int64_t interpolation_mode, int64_t padding_mode, bool align_corners, Tensor& out);
void grid_sampler_3d_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& grid,
                         int64_t interpolation_mode, int64_t padding_mode, bool align_corners, Tensor& out);
void max_pool2d_with_indices_backward_out(KernelRuntimeContext& context, const Tensor& grad_output, const Tensor& in,
                                          Span<const int64_t> kernel, Span<const int64_t> stride,
                                          Span<const int64_t> padding, Span<const int64_t> dilation, bool ceil_mode,
                                          const Tensor& indices, Tensor& grad_input);
void avg_pool2d_backward_out(KernelRuntimeContext& context, const Tensor& grad_output, const Tensor& in,
                             Span<const int64_t> kernel, Span<const int64_t> stride, Span<const int64_t> padding,
                             bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor,
                             Tensor& grad_input);
void adaptive_avg_pool2d_backward_out(KernelRuntimeContext& context, const Tensor& grad_output, const Tensor& in,
                                      Tensor& out);
void im2col_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> kernel,
                Span<const int64_t> dilation, Span<const int64_t> padding, Span<const int64_t> stride, Tensor& out);
void col2im_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                Span<const int64_t> kernel, Span<const int64_t> dilation, Span<const int64_t> padding,
                Span<const int64_t> stride, Tensor& out);
void fft_r2c_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, int64_t normalization,
                 bool onesided, Tensor& out);
void fft_c2r_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, int64_t normalization,
                 int64_t last_dim_size, Tensor& out);
void fft_c2c_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, int64_t normalization,
                 bool forward, Tensor& out);
void adaptive_max_pool2d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                             Tensor& out, Tensor& indices);
void adaptive_max_pool3d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                             Tensor& out, Tensor& indices);

}  // namespace rushlight::portable
