#pragma once

#include <complex>
#include <cstdint>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

using FourierNumber = std::complex<double>;

// The discrete Fourier transform for lengths with only small prime factors (Cooley and Tukey: An algorithm for the
// machine calculation of complex Fourier series, 1965).
class MixedRadix {
 public:
  static constexpr int64_t kMaxRadix = 61;
  // Returns whether every prime factor of `n` is at most kMaxRadix.
  static bool supports(int64_t n);
  // Makes the tables in scratch memory. If there is no memory, records the failure and returns false.
  bool prepare(KernelRuntimeContext& context, int64_t n);
  // Computes out[k] = sum of in[j] * exp(-2 pi i j k / n). The arrays must not overlap.
  void run(const FourierNumber* in, FourierNumber* out) const { step(in, 1, out, n_, factors_); }
  int64_t size() const { return n_; }

 private:
  void step(const FourierNumber* in, int64_t stride, FourierNumber* out, int64_t n, const int32_t* factor) const;

  int64_t n_ = 0;
  const FourierNumber* roots_ = nullptr;  // [n_] exp(-2 pi i k / n_)
  int32_t factors_[40];                   // radices of the steps, then 1
};

// The discrete Fourier transform of any length. For lengths that MixedRadix does not support, it computes a convolution
// with a chirp (Bluestein: A linear filtering approach to the computation of discrete Fourier transform, 1970).
class FourierTransform {
 public:
  // Makes the tables for `n` points, n >= 1. If there is no memory, records the failure and returns false.
  bool prepare(KernelRuntimeContext& context, int64_t n);
  // Computes out[k] = sum of in[j] * exp(s 2 pi i j k / n), where s is -1, or +1 with `inverse`. `in` is overwritten.
  void run(FourierNumber* in, FourierNumber* out, bool inverse) const;

 private:
  bool prepare_chirp(KernelRuntimeContext& context);
  void convolve(const FourierNumber* in, FourierNumber* out) const;

  int64_t n_ = 0;
  MixedRadix transform_;                     // of n_ points, or of a power of two above 2 n_ for the chirp
  const FourierNumber* chirp_ = nullptr;     // [n_] exp(-pi i k^2 / n_)
  const FourierNumber* spectrum_ = nullptr;  // the spectrum of the conjugate chirp
  FourierNumber* buffer_ = nullptr;          // [2][transform_.size()], temporary
};

// Returns the scale of the results: 1 for `normalization` 0, 1 / sqrt(points) for 1, 1 / points for 2. For other
// values, records the failure and returns false.
bool fourier_scale(KernelRuntimeContext& context, int64_t normalization, double points, double* scale);

// Transforms every line along `axis` of a complex tensor in place, and scales it.
void transform_lines(KernelRuntimeContext& context, const Tensor& tensor, int64_t axis, bool inverse, double scale);

// Transforms real `in` to complex `out` along `axis`. `out` has either all points of in's axis, or n / 2 + 1 points.
void transform_real_lines(KernelRuntimeContext& context, const Tensor& in, int64_t axis, double scale,
                          const Tensor& out);

// Transforms complex `in` to real `out` along `axis` with the inverse transform. `in` has the first n / 2 + 1 points of
// a spectrum; the other points are their conjugates.
void transform_lines_to_real(KernelRuntimeContext& context, const Tensor& in, int64_t axis, double scale,
                             const Tensor& out);

// Functions that transform all lines of a tensor along an axis. Portable and optimized kernels use different ones.
struct LineTransforms {
  decltype(&transform_lines) complex;
  decltype(&transform_real_lines) from_real;
  decltype(&transform_lines_to_real) to_real;
};

// The kernels of the operators _fft_c2c, _fft_r2c and _fft_c2r. They call the functions in `lines` for each axis.
void fourier_complex(KernelRuntimeContext& context, const LineTransforms& lines, const Tensor& in,
                     Span<const int64_t> dims, int64_t normalization, bool forward, const Tensor& out);
void fourier_from_real(KernelRuntimeContext& context, const LineTransforms& lines, const Tensor& in,
                       Span<const int64_t> dims, int64_t normalization, bool onesided, const Tensor& out);
void fourier_to_real(KernelRuntimeContext& context, const LineTransforms& lines, const Tensor& in,
                     Span<const int64_t> dims, int64_t normalization, int64_t last_dim_size, const Tensor& out);

}  // namespace rushlight
