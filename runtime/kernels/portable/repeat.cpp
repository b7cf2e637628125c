#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void repeat_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> repeats, Tensor& out) {
  const int64_t rank = static_cast<int64_t>(repeats.size());
  const int64_t leading = rank - in.dim();
  RL_KERNEL_REQUIRE(context, leading >= 0 && rank <= kMaxDim, InvalidArgument,
                    "%lld repeats do not match a tensor of rank %lld", static_cast<long long>(rank),
                    static_cast<long long>(in.dim()));
  Shape shape;
  for (int64_t i = 0; i < rank; ++i) {
    RL_KERNEL_REQUIRE(context, repeats[i] >= 0 && repeats[i] <= INT32_MAX, InvalidArgument,
                      "dim %lld cannot be repeated %lld times", static_cast<long long>(i),
                      static_cast<long long>(repeats[i]));
    shape.push(repeats[i] * (i < leading ? 1 : in.size(i - leading)));
  }
  if (!require_same_dtype(context, in, out) || !resize_out(context, out, shape.span())) return;
  if (out.numel() == 0) return;
  StridedLoops loops;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t size = i < leading ? 1 : in.size(i - leading);
    loops.add(repeats[i], 0, size * out.stride(i));
    if (i >= leading) loops.add(size, in.stride(i - leading), out.stride(i));
  }
  strided_copy(context, loops, in.const_data_ptr(), out.mutable_data_ptr(), in.element_size());
}

}  // namespace rushlight::portable
