#include <cstring>

#include "kernels/shared/axes.h"
#include "kernels/shared/complex.h"
#include "kernels/shared/fft.h"
#include "kernels/shared/promotion.h"
#include "kernels/shared/shape.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight {
namespace {

// Sets the imaginary parts of the points that are their own conjugates to 0. `dims` is a mask of the transformed axes.
void clear_imaginary_parts(KernelRuntimeContext& context, const Tensor& in, uint32_t dims, const Tensor& out) {
  static constexpr double kZero = 0;
  StridedLoops loops;
  for (int64_t i = 0; i < in.dim(); ++i) {
    const bool is_transformed = (dims >> i & 1u) != 0;
    const int64_t step = is_transformed ? in.size(i) / 2 : 1;
    loops.add(is_transformed ? 2 - in.size(i) % 2 : in.size(i), 0, 2 * step * out.stride(i));
  }
  const size_t part = out.element_size() / 2;
  if (out.numel() > 0) strided_copy(context, loops, &kZero, at(out, 0) + part, part);
}

}  // namespace

void fourier_complex(KernelRuntimeContext& context, const LineTransforms& lines, const Tensor& in,
                     Span<const int64_t> dims, int64_t normalization, bool forward, const Tensor& out) {
  uint32_t mask;
  if (!axis_mask(context, dims, in.dim(), &mask) || !require_same_dtype(context, in, out)) return;
  const auto axis_of = [&](int64_t dim) { return dim < 0 ? dim + in.dim() : dim; };
  double points = 1, scale;
  for (const int64_t dim : dims) points *= static_cast<double>(in.dim() == 0 ? 1 : in.size(axis_of(dim)));
  if (!fourier_scale(context, normalization, points, &scale) || !resize_out(context, out, in.sizes())) return;
  copy_elements(context, in, out);
  for (size_t i = 0; i < dims.size() && in.dim() > 0 && !context.failed(); ++i) {
    lines.complex(context, out, axis_of(dims[i]), !forward, i == 0 ? scale : 1);
  }
}

void fourier_from_real(KernelRuntimeContext& context, const LineTransforms& lines, const Tensor& in,
                       Span<const int64_t> dims, int64_t normalization, bool onesided, const Tensor& out) {
  uint32_t mask;
  RL_KERNEL_REQUIRE(context, !dims.empty() && in.dim() > 0, InvalidArgument, "there are no dims to transform");
  RL_KERNEL_REQUIRE(context, is_complex(out.scalar_type()) && real_type(out.scalar_type()) == in.scalar_type(),
                    InvalidArgument, "the spectrum of a %s tensor cannot have dtype %s", dtype_name(in.scalar_type()),
                    dtype_name(out.scalar_type()));
  if (!axis_mask(context, dims, in.dim(), &mask)) return;
  const auto axis_of = [&](int64_t dim) { return dim < 0 ? dim + in.dim() : dim; };
  const int64_t last = axis_of(dims.back());
  double points = 1, scale;
  for (const int64_t dim : dims) points *= static_cast<double>(in.size(axis_of(dim)));
  RL_KERNEL_REQUIRE(context, in.size(last) > 0, InvalidArgument, "an empty dim cannot be transformed");
  if (!fourier_scale(context, normalization, points, &scale)) return;
  Shape shape(in.sizes());
  if (onesided) shape.set(last, in.size(last) / 2 + 1);
  if (!resize_out(context, out, shape.span())) return;
  lines.from_real(context, in, last, scale, out);
  for (size_t i = 0; i + 1 < dims.size() && !context.failed(); ++i) {
    lines.complex(context, out, axis_of(dims[i]), false, 1);
  }
  if (!context.failed()) clear_imaginary_parts(context, in, mask, out);
}

void fourier_to_real(KernelRuntimeContext& context, const LineTransforms& lines, const Tensor& in,
                     Span<const int64_t> dims, int64_t normalization, int64_t last_dim_size, const Tensor& out) {
  uint32_t mask;
  RL_KERNEL_REQUIRE(context, !dims.empty() && in.dim() > 0, InvalidArgument, "there are no dims to transform");
  RL_KERNEL_REQUIRE(context, is_complex(in.scalar_type()) && real_type(in.scalar_type()) == out.scalar_type(),
                    InvalidArgument, "the inverse transform of a %s tensor cannot have dtype %s",
                    dtype_name(in.scalar_type()), dtype_name(out.scalar_type()));
  if (!axis_mask(context, dims, in.dim(), &mask)) return;
  const auto axis_of = [&](int64_t dim) { return dim < 0 ? dim + in.dim() : dim; };
  const int64_t last = axis_of(dims.back());
  RL_KERNEL_REQUIRE(context, last_dim_size > 0, InvalidArgument, "an empty dim cannot be transformed");
  double points = static_cast<double>(last_dim_size), scale;
  for (size_t i = 0; i + 1 < dims.size(); ++i) points *= static_cast<double>(in.size(axis_of(dims[i])));
  if (!fourier_scale(context, normalization, points, &scale)) return;
  Shape shape(in.sizes());
  shape.set(last, last_dim_size);
  if (!resize_out(context, out, shape.span()) || out.numel() == 0) return;
  TensorImpl copy = *in.impl();
  if (dims.size() > 1) {
    copy.data = context.allocate_temporary(in.nbytes());
    if (!copy.data) return;
    std::memcpy(copy.data, in.const_data_ptr(), in.nbytes());
  }
  const Tensor spectrum(&copy);
  for (size_t i = 0; i + 1 < dims.size() && !context.failed(); ++i) {
    lines.complex(context, spectrum, axis_of(dims[i]), true, 1);
  }
  if (!context.failed()) lines.to_real(context, spectrum, last, scale, out);
}

}  // namespace rushlight
