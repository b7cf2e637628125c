#include "kernels/portable/nn.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/fft.h"
#include "kernels/shared/promotion.h"

namespace rushlight::portable {

void fft_r2c_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, int64_t normalization,
                 bool onesided, Tensor& out) {
  uint32_t mask;
  RL_KERNEL_REQUIRE(context, !dims.empty() && in.dim() > 0, InvalidArgument, "there are no dims to transform");
  RL_KERNEL_REQUIRE(context, is_complex(out.scalar_type()) && real_type(out.scalar_type()) == in.scalar_type(),
                    InvalidArgument, "the spectrum of %s cannot be %s", dtype_name(in.scalar_type()),
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
  transform_real_lines(context, in, last, scale, out);
  for (size_t i = 0; i + 1 < dims.size() && !context.failed(); ++i) {
    transform_lines(context, out, axis_of(dims[i]), false, 1);
  }
}

}  // namespace rushlight::portable
