#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void view_copy_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> sizes, Tensor& out) {
  Shape shape;
  int64_t known = 1;
  int64_t inferred = -1;
  for (const int64_t size : sizes) {
    if (size == -1) {
      RL_KERNEL_REQUIRE(context, inferred < 0, InvalidArgument, "only one size of a view can be inferred");
      inferred = shape.dim;
    } else {
      RL_KERNEL_REQUIRE(context, size >= 0 && (size == 0 || known <= INT64_MAX / size), InvalidArgument,
                        "a view cannot have size %lld", static_cast<long long>(size));
      known *= size;
    }
    shape.push(size == -1 ? 0 : size);
  }
  RL_KERNEL_REQUIRE(context, shape.dim <= kMaxDim, InvalidArgument, "a view of rank %d is above the limit of %d",
                    shape.dim, kMaxDim);
  if (inferred >= 0) {
    RL_KERNEL_REQUIRE(context, known != 0 && in.numel() % known == 0, InvalidArgument,
                      "%lld elements cannot be viewed: the inferred size is no whole number",
                      static_cast<long long>(in.numel()));
    shape.set(inferred, in.numel() / known);
  }
  RL_KERNEL_REQUIRE(context, inferred >= 0 || known == in.numel(), InvalidArgument,
                    "%lld elements cannot be viewed as %lld", static_cast<long long>(in.numel()),
                    static_cast<long long>(known));
  if (!require_same_dtype(context, in, out) || !resize_out(context, out, shape.span())) return;
  copy_reshaped(context, in, out);
}

}  // namespace rushlight::portable
