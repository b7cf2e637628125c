#include "kernels/shared/fft.h"

#include <algorithm>
#include <cmath>

namespace rushlight {
namespace {

using Complex = FourierNumber;
constexpr double kPi = 3.14159265358979323846;

Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// Computes exp(-pi i k / n).
Complex half_root(int64_t k, int64_t n) {
  const double angle = -kPi * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

}  // namespace

bool MixedRadix::supports(int64_t n) {
  for (int64_t p = 2; p <= kMaxRadix && n > 1; ++p) {
    while (n % p == 0) n /= p;
  }
  return n == 1;
}

bool MixedRadix::prepare(KernelRuntimeContext& context, int64_t n) {
  n_ = n;
  int32_t* factor = factors_;
  int64_t rest = n;
  for (; rest % 4 == 0; rest /= 4) *factor++ = 4;
  for (int32_t p = 2; rest > 1; ++p) {
    for (; rest % p == 0; rest /= p) *factor++ = p;
  }
  *factor = 1;
  Complex* roots = context.allocate_temporary_array<Complex>(static_cast<size_t>(n));
  for (int64_t k = 0; roots && k < n; ++k) roots[k] = half_root(2 * k, n);
  roots_ = roots;
  return roots != nullptr;
}

void MixedRadix::step(const Complex* in, int64_t stride, Complex* out, int64_t n, const int32_t* factor) const {
  if (n == 1) {
    *out = *in;
    return;
  }
  const int64_t radix = *factor, part = n / radix;
  for (int64_t q = 0; q < radix; ++q) step(in + q * stride, stride * radix, out + q * part, part, factor + 1);
  Complex terms[kMaxRadix];
  for (int64_t k = 0; k < part; ++k) {
    for (int64_t q = 0; q < radix; ++q) terms[q] = times(out[q * part + k], roots_[q * k * stride]);
    if (radix == 4) {
      const Complex a = terms[0] + terms[2], b = terms[0] - terms[2];
      const Complex c = terms[1] + terms[3], d = terms[1] - terms[3];
      const Complex rotated(d.imag(), -d.real());
      out[k] = a + c;
      out[part + k] = b + rotated;
      out[2 * part + k] = a - c;
      out[3 * part + k] = b - rotated;
      continue;
    }
    for (int64_t r = 0; r < radix; ++r) {
      Complex sum = terms[0];
      for (int64_t q = 1; q < radix; ++q) sum += times(terms[q], roots_[q * r % radix * (n_ / radix)]);
      out[r * part + k] = sum;
    }
  }
}

bool FourierTransform::prepare(KernelRuntimeContext& context, int64_t n) {
  n_ = n;
  return MixedRadix::supports(n) ? transform_.prepare(context, n) : prepare_chirp(context);
}

bool FourierTransform::prepare_chirp(KernelRuntimeContext& context) {
  int64_t padded = 1;
  while (padded < 2 * n_ - 1) padded *= 2;
  Complex* chirp = context.allocate_temporary_array<Complex>(static_cast<size_t>(n_));
  Complex* spectrum = context.allocate_temporary_array<Complex>(static_cast<size_t>(padded));
  buffer_ = context.allocate_temporary_array<Complex>(static_cast<size_t>(2 * padded));
  if (!chirp || !spectrum || !buffer_ || !transform_.prepare(context, padded)) return false;
  std::fill(buffer_, buffer_ + padded, Complex(0));
  for (int64_t k = 0; k < n_; ++k) {
    // k^2 modulo 2 n keeps the angle small, so that its rounding error is small.
    chirp[k] = half_root(k * k % (2 * n_), n_);
    buffer_[k] = std::conj(chirp[k]);
    if (k > 0) buffer_[padded - k] = buffer_[k];
  }
  transform_.run(buffer_, spectrum);
  chirp_ = chirp;
  spectrum_ = spectrum;
  return true;
}

// Because j k = (j^2 + k^2 - (k - j)^2) / 2, the sum is a convolution, and a convolution is a product of spectra.
void FourierTransform::convolve(const Complex* in, Complex* out) const {
  const int64_t padded = transform_.size();
  Complex* first = buffer_;
  Complex* second = buffer_ + padded;
  for (int64_t k = 0; k < n_; ++k) first[k] = times(in[k], chirp_[k]);
  std::fill(first + n_, first + padded, Complex(0));
  transform_.run(first, second);
  // The inverse transform is the conjugate of the transform of the conjugate.
  for (int64_t k = 0; k < padded; ++k) first[k] = std::conj(times(second[k], spectrum_[k]));
  transform_.run(first, second);
  for (int64_t k = 0; k < n_; ++k) out[k] = times(std::conj(second[k]), chirp_[k]) / static_cast<double>(padded);
}

void FourierTransform::run(Complex* in, Complex* out, bool inverse) const {
  if (inverse) std::transform(in, in + n_, in, [](Complex x) { return std::conj(x); });
  if (chirp_) {
    convolve(in, out);
  } else {
    transform_.run(in, out);
  }
  if (inverse) std::transform(out, out + n_, out, [](Complex x) { return std::conj(x); });
}

bool fourier_scale(KernelRuntimeContext& context, int64_t normalization, double points, double* scale) {
  if (normalization < 0 || normalization > 2) {
    context.fail(Error::InvalidArgument, "normalization %lld is not 0, 1 or 2", static_cast<long long>(normalization));
    return false;
  }
  *scale = normalization == 0 ? 1 : normalization == 1 ? 1 / std::sqrt(points) : 1 / points;
  return true;
}

}  // namespace rushlight
