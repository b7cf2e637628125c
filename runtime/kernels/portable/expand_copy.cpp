#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void expand_copy_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> sizes, bool implicit,
                     Tensor& out) {
  (void)implicit;
  const int64_t rank = static_cast<int64_t>(sizes.size());
  const int64_t leading = rank - in.dim();
  RL_KERNEL_REQUIRE(context, leading >= 0 && rank <= kMaxDim, InvalidArgument,
                    "a tensor of rank %lld cannot be expanded to %lld dims", static_cast<long long>(in.dim()),
                    static_cast<long long>(rank));
  Shape shape;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t own = i < leading ? 1 : in.size(i - leading);
    const int64_t size = sizes[i] == -1 && i >= leading ? own : sizes[i];
    RL_KERNEL_REQUIRE(context, size >= 0 && (size == own || own == 1), InvalidArgument,
                      "dim %lld of size %lld cannot be expanded to %lld", static_cast<long long>(i),
                      static_cast<long long>(own), static_cast<long long>(sizes[i]));
    shape.push(size);
  }
  if (!require_same_dtype(context, in, out) || !resize_out(context, out, shape.span())) return;
  StridedLoops loops;
  for (int64_t i = 0; i < rank; ++i) {
    const bool repeated = i < leading || in.size(i - leading) == 1;
    loops.add(out.size(i), repeated ? 0 : in.stride(i - leading), out.stride(i));
  }
  strided_copy(context, loops, in.const_data_ptr(), out.mutable_data_ptr(), in.element_size());
}

}  // namespace rushlight::portable
