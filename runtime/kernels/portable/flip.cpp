#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void flip_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, Tensor& out) {
  uint32_t mask;
  if (!axis_mask(context, dims, in.dim(), &mask) || !require_same_dtype(context, in, out)) return;
  if (!resize_out(context, out, in.sizes()) || in.numel() == 0) return;
  StridedLoops loops;
  int64_t start = 0;
  for (int64_t i = 0; i < in.dim(); ++i) {
    const bool flipped = (mask >> i & 1u) != 0;
    loops.add(in.size(i), flipped ? -static_cast<int64_t>(in.stride(i)) : in.stride(i), out.stride(i));
    if (flipped) start += (in.size(i) - 1) * in.stride(i);
  }
  strided_copy(context, loops, at(in, start), out.mutable_data_ptr(), in.element_size());
}

}  // namespace rushlight::portable
