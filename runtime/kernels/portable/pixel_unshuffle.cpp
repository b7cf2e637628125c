#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void pixel_unshuffle_out(KernelRuntimeContext& context, const Tensor& in, int64_t factor, Tensor& out) {
  const int64_t rank = in.dim();
  RL_KERNEL_REQUIRE(context, rank >= 3 && factor > 0 && factor <= INT16_MAX, InvalidArgument,
                    "pixel_unshuffle by %lld needs a tensor of rank 3 or more, not %lld",
                    static_cast<long long>(factor), static_cast<long long>(rank));
  const int64_t c = rank - 3, h = rank - 2, w = rank - 1;
  RL_KERNEL_REQUIRE(context, in.size(h) % factor == 0 && in.size(w) % factor == 0, InvalidArgument,
                    "the image size %lld x %lld is not a multiple of %lld", static_cast<long long>(in.size(h)),
                    static_cast<long long>(in.size(w)), static_cast<long long>(factor));
  Shape shape(in.sizes());
  shape.set(c, in.size(c) * factor * factor);
  shape.set(h, in.size(h) / factor);
  shape.set(w, in.size(w) / factor);
  if (!require_same_dtype(context, in, out) || !resize_out(context, out, shape.span())) return;
  StridedLoops loops;
  for (int64_t i = 0; i < c; ++i) loops.add(in.size(i), in.stride(i), out.stride(i));
  loops.add(in.size(c), in.stride(c), out.stride(c) * factor * factor);
  loops.add(factor, in.stride(h), out.stride(c) * factor);
  loops.add(factor, in.stride(w), out.stride(c));
  loops.add(out.size(h), in.stride(h) * factor, out.stride(h));
  loops.add(out.size(w), in.stride(w) * factor, out.stride(w));
  strided_copy(context, loops, in.const_data_ptr(), out.mutable_data_ptr(), in.element_size());
}

}  // namespace rushlight::portable
