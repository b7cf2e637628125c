#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void pixel_shuffle_out(KernelRuntimeContext& context, const Tensor& in, int64_t factor, Tensor& out) {
  const int64_t rank = in.dim();
  RL_KERNEL_REQUIRE(context, rank >= 3 && factor > 0 && factor <= INT16_MAX, InvalidArgument,
                    "pixel_shuffle by %lld needs a tensor of rank 3 or more, not %lld", static_cast<long long>(factor),
                    static_cast<long long>(rank));
  const int64_t c = rank - 3, h = rank - 2, w = rank - 1;
  RL_KERNEL_REQUIRE(context, in.size(c) % (factor * factor) == 0, InvalidArgument,
                    "%lld channels are not a multiple of %lld", static_cast<long long>(in.size(c)),
                    static_cast<long long>(factor * factor));
  Shape shape(in.sizes());
  shape.set(c, in.size(c) / (factor * factor));
  shape.set(h, in.size(h) * factor);
  shape.set(w, in.size(w) * factor);
  if (!require_same_dtype(context, in, out) || !resize_out(context, out, shape.span())) return;
  StridedLoops loops;
  for (int64_t i = 0; i < c; ++i) loops.add(in.size(i), in.stride(i), out.stride(i));
  loops.add(out.size(c), in.stride(c) * factor * factor, out.stride(c));
  loops.add(factor, in.stride(c) * factor, out.stride(h));
  loops.add(factor, in.stride(c), out.stride(w));
  loops.add(in.size(h), in.stride(h), out.stride(h) * factor);
  loops.add(in.size(w), in.stride(w), out.stride(w) * factor);
  strided_copy(context, loops, in.const_data_ptr(), out.mutable_data_ptr(), in.element_size());
}

}  // namespace rushlight::portable
