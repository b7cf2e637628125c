#include <algorithm>

#include "kernels/shared/complex.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/fft.h"

namespace rushlight {
namespace {

using Complex = FourierNumber;

constexpr DtypeSet kComplexTypes(ScalarType::ComplexFloat, ScalarType::ComplexDouble);

// A transform, and memory for its input and output.
struct Line {
  FourierTransform transform;
  Complex* in = nullptr;
  Complex* out = nullptr;

  bool prepare(KernelRuntimeContext& context, int64_t n) {
    in = context.allocate_temporary_array<Complex>(static_cast<size_t>(n));
    out = context.allocate_temporary_array<Complex>(static_cast<size_t>(n));
    return in && out && transform.prepare(context, n);
  }
};

// Calls body(offset in a, offset in b) for every line along `axis`. The sizes of a and b are equal in all other axes.
template <typename Body>
void for_each_line(const Tensor& a, const Tensor& b, int64_t axis, const Body& body) {
  int64_t lines = 1;
  for (int64_t i = 0; i < a.dim(); ++i) lines *= i == axis ? 1 : a.size(i);
  for (int64_t line = 0; line < lines; ++line) {
    int64_t rest = line, from = 0, to = 0;
    for (int64_t i = a.dim() - 1; i >= 0; --i) {
      if (i == axis) continue;
      from += rest % a.size(i) * a.stride(i);
      to += rest % a.size(i) * b.stride(i);
      rest /= a.size(i);
    }
    body(from, to);
  }
}

}  // namespace

void transform_lines(KernelRuntimeContext& context, const Tensor& tensor, int64_t axis, bool inverse, double scale) {
  const int64_t n = tensor.size(axis), stride = tensor.stride(axis);
  Line line;
  if (tensor.numel() == 0 || !line.prepare(context, n)) return;
  switch_dtype<kComplexTypes>(context, tensor.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_line(tensor, tensor, axis, [&](int64_t from, int64_t) {
      T* data = tensor.mutable_data_ptr<T>() + from;
      for (int64_t i = 0; i < n; ++i) line.in[i] = Complex(data[i * stride]);
      line.transform.run(line.in, line.out, inverse);
      for (int64_t i = 0; i < n; ++i) data[i * stride] = T(line.out[i] * scale);
    });
  });
}

void transform_real_lines(KernelRuntimeContext& context, const Tensor& in, int64_t axis, double scale,
                          const Tensor& out) {
  const int64_t n = in.size(axis);
  Line line;
  if (in.numel() == 0 || !line.prepare(context, n)) return;
  switch_dtype<dtypes::kFloat>(context, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_line(in, out, axis, [&](int64_t from, int64_t to) {
      const T* source = in.const_data_ptr<T>() + from;
      std::complex<T>* target = out.mutable_data_ptr<std::complex<T>>() + to;
      for (int64_t i = 0; i < n; ++i) line.in[i] = Complex(static_cast<double>(source[i * in.stride(axis)]));
      line.transform.run(line.in, line.out, false);
      for (int64_t i = 0; i < out.size(axis); ++i) {
        target[i * out.stride(axis)] = std::complex<T>(line.out[i] * scale);
      }
    });
  });
}

void transform_lines_to_real(KernelRuntimeContext& context, const Tensor& in, int64_t axis, double scale,
                             const Tensor& out) {
  const int64_t n = out.size(axis), given = std::min(in.size(axis), n / 2 + 1);
  Line line;
  if (out.numel() == 0 || !line.prepare(context, n)) return;
  switch_dtype<dtypes::kFloat>(context, out.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_line(in, out, axis, [&](int64_t from, int64_t to) {
      const std::complex<T>* source = in.const_data_ptr<std::complex<T>>() + from;
      T* target = out.mutable_data_ptr<T>() + to;
      std::fill(line.in, line.in + n, Complex(0));
      for (int64_t i = 0; i < given; ++i) {
        line.in[i] = Complex(source[i * in.stride(axis)]);
        if (i > 0) line.in[n - i] = std::conj(line.in[i]);
      }
      // A point that is its own conjugate is real.
      line.in[0] = line.in[0].real();
      if (n % 2 == 0) line.in[n / 2] = line.in[n / 2].real();
      line.transform.run(line.in, line.out, true);
      for (int64_t i = 0; i < n; ++i) target[i * out.stride(axis)] = static_cast<T>(line.out[i].real() * scale);
    });
  });
}

}  // namespace rushlight
