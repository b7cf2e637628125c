#include "kernels/quantized/channel_arguments.h"

#include "kernels/shared/shape.h"

namespace rushlight::quantized {

bool require_parts(KernelRuntimeContext& context, int64_t parts, const Tensor& scales, const Tensor* zero_points) {
  if (scales.numel() != parts || (zero_points && zero_points->numel() != parts)) {
    context.fail(
        Error::InvalidArgument, "%lld scales and %lld zero points do not match %lld parts (channels, groups or tokens)",
        static_cast<long long>(scales.numel()),
        static_cast<long long>(zero_points ? zero_points->numel() : scales.numel()), static_cast<long long>(parts));
    return false;
  }
  return true;
}

bool channel_axis(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales, const Tensor* zero_points,
                  int64_t* axis) {
  if (in.dim() == 0) {
    context.fail(Error::InvalidArgument, "a zero-dim tensor has no channels");
    return false;
  }
  return normalize_dim(context, *axis, in.dim(), axis) && require_parts(context, in.size(*axis), scales, zero_points);
}

int64_t group_length(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales, int64_t group_size) {
  if (in.dim() != 2) {
    context.fail(Error::InvalidArgument, "quantization in groups needs a matrix, not a tensor of rank %lld",
                 static_cast<long long>(in.dim()));
    return 0;
  }
  const int64_t columns = in.size(1);
  const bool single = group_size > columns && scales.dim() > 0 && scales.size(scales.dim() - 1) == 1;
  const int64_t group = single ? columns : group_size;
  if (group_size <= 1 || columns % (group > 0 ? group : 1) != 0) {
    context.fail(Error::InvalidArgument, "rows of %lld elements cannot be divided into groups of %lld",
                 static_cast<long long>(columns), static_cast<long long>(group_size));
    return 0;
  }
  return group;
}

}  // namespace rushlight::quantized
