#include <cstring>

#include "kernels/portable/nn.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/fft.h"
#include "kernels/shared/promotion.h"

namespace rushlight::portable {

void fft_c2r_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, int64_t normalization,
                 int64_t last_dim_size, Tensor& out) {
  uint32_t mask;
  RL_KERNEL_REQUIRE(context, !dims.empty() && in.dim() > 0, InvalidArgument, "there are no dims to transform");
  RL_KERNEL_REQUIRE(context, is_complex(in.scalar_type()) && real_type(in.scalar_type()) == out.scalar_type(),
                    InvalidArgument, "the inverse of %s cannot be %s", dtype_name(in.scalar_type()),
                    dtype_name(out.scalar_type()));
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
    transform_lines(context, spectrum, axis_of(dims[i]), true, 1);
  }
  if (!context.failed()) transform_lines_to_real(context, spectrum, last, scale, out);
}

}  // namespace rushlight::portable
