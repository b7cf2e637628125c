#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"

namespace rushlight::portable {

void split_copy_Tensor_out(KernelRuntimeContext& context, const Tensor& in, int64_t split_size, int64_t dim,
                           Span<Tensor> out) {
  RL_KERNEL_REQUIRE(context, in.dim() > 0, InvalidArgument, "split needs a tensor of rank 1 or more");
  int64_t axis;
  if (!normalize_dim(context, dim, in.dim(), &axis)) return;
  const int64_t size = in.size(axis);
  RL_KERNEL_REQUIRE(context, split_size > 0 || (split_size == 0 && size == 0), InvalidArgument,
                    "the split size %lld is not valid for dim %lld of size %lld", static_cast<long long>(split_size),
                    static_cast<long long>(axis), static_cast<long long>(size));
  const int64_t parts = split_size == 0 || size == 0 ? 1 : (size - 1) / split_size + 1;
  RL_KERNEL_REQUIRE(context, static_cast<int64_t>(out.size()) == parts, InvalidArgument,
                    "the split has %lld parts, but %zu output tensors", static_cast<long long>(parts), out.size());
  int64_t start = 0;
  for (Tensor& part : out) {
    const int64_t length = size - start < split_size ? size - start : split_size;
    slice_copy_Tensor_out(context, in, axis, start, start + length, 1, part);
    if (context.failed()) return;
    start += length;
  }
}

}  // namespace rushlight::portable
