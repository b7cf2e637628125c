#pragma once

#include <cstdint>
#include <optional>

#include "kernels/shared/matmul.h"
#include "kernels/shared/window.h"

namespace rushlight {

// The arguments of aten::convolution, extended to [batch, channels, depth, height, width].
struct Convolution {
  int64_t dims = 2;  // spatial dims of the tensors
  int64_t groups = 1;
  bool transposed = false;
  Window3d window;  // kernel: the spatial sizes of the weight
  int64_t output_padding[3] = {0, 0, 0};
};

// Checks the arguments against each other and fills `convolution`. The input may have no batch dim.
bool read_convolution(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight, Span<const int64_t> stride,
                      Span<const int64_t> padding, Span<const int64_t> dilation, bool transposed,
                      Span<const int64_t> output_padding, int64_t groups, Convolution* convolution);

// Returns the shape of the convolution of `in`. An invalid size is -1.
Shape convolved_shape(const Convolution& convolution, const Tensor& in, const Tensor& weight);

// Computes out = in * weight + bias. The shape of `out` is already set. For a transposed convolution, it may be any
// shape whose convolution has the shape of `in`.
void convolve(KernelRuntimeContext& context, const Convolution& convolution, const Tensor& in, const Tensor& weight,
              const std::optional<Tensor>& bias, const Tensor& out);

// Computes the gradient of the weight: gradient[a, b, k...] = sum over batch and positions of small[n, a, p] * large[n,
// b, p * stride - padding + k * dilation]. `large` is the input and `small` the gradient of the output; for a
// transposed convolution they are exchanged.
void convolve_weight_gradient(KernelRuntimeContext& context, const Convolution& convolution, const Tensor& small,
                              const Tensor& large, const Tensor& gradient);

}  // namespace rushlight
