#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"

namespace rushlight::portable {

void split_with_sizes_copy_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> split_sizes,
                               int64_t dim, Span<Tensor> out) {
  RL_KERNEL_REQUIRE(context, in.dim() > 0, InvalidArgument, "split needs a tensor of rank 1 or more");
  int64_t axis;
  if (!normalize_dim(context, dim, in.dim(), &axis)) return;
  RL_KERNEL_REQUIRE(context, out.size() == split_sizes.size(), InvalidArgument,
                    "the split has %zu parts, but %zu output tensors", split_sizes.size(), out.size());
  int64_t left = in.size(axis);
  for (const int64_t size : split_sizes) {
    RL_KERNEL_REQUIRE(context, size >= 0 && size <= left, InvalidArgument,
                      "the split sizes do not sum to the size of dim %lld, which is %lld", static_cast<long long>(axis),
                      static_cast<long long>(in.size(axis)));
    left -= size;
  }
  RL_KERNEL_REQUIRE(context, left == 0, InvalidArgument,
                    "the split sizes do not sum to the size of dim %lld, which is %lld", static_cast<long long>(axis),
                    static_cast<long long>(in.size(axis)));
  int64_t start = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    slice_copy_Tensor_out(context, in, axis, start, start + split_sizes[i], 1, out[i]);
    if (context.failed()) return;
    start += split_sizes[i];
  }
}

}  // namespace rushlight::portable
