#include <cmath>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

namespace {

// Returns the half of `in` along `axis` that begins at element `start` of the axis.
struct HalfView {
  TensorImpl impl;
  SizesType sizes[kMaxDim];

  HalfView(const Tensor& in, int64_t axis, int64_t start) : impl(*in.impl()) {
    for (int64_t d = 0; d < in.dim(); ++d) sizes[d] = static_cast<SizesType>(d == axis ? in.size(d) / 2 : in.size(d));
    impl.sizes = sizes;
    impl.numel /= 2;
    impl.data = at(in, start * in.stride(axis));
  }
};

}  // namespace

void glu_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, Tensor& out) {
  int64_t axis;
  if (!normalize_dim(context, dim, in.dim(), &axis)) return;
  RL_KERNEL_REQUIRE(context, in.dim() > 0 && in.size(axis) % 2 == 0, InvalidArgument,
                    "dim %lld does not have an even number of elements", static_cast<long long>(axis));
  HalfView value(in, axis, 0), gate(in, axis, in.size(axis) / 2);
  elementwise<kinds::kFloating>(context, {Tensor(&value.impl), Tensor(&gate.impl)}, out, in.scalar_type(),
                                [](auto) { return [](auto x, auto y) { return x / (1 + std::exp(-y)); }; });
}

}  // namespace rushlight::portable
