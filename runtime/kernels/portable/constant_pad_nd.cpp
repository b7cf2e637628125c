#include <algorithm>

#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/fill.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void constant_pad_nd_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> pad, const Scalar& value,
                         Tensor& out) {
  const int64_t rank = in.dim();
  const int64_t padded = static_cast<int64_t>(pad.size()) / 2;
  RL_KERNEL_REQUIRE(context, pad.size() % 2 == 0 && padded <= rank, InvalidArgument,
                    "%zu pad widths do not match a tensor of rank %lld", pad.size(), static_cast<long long>(rank));
  Shape shape(in.sizes());
  StridedLoops loops;
  int64_t from = 0, to = 0;
  int64_t copied[kMaxDim];
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t pair = rank - 1 - i;
    const int64_t before = pair < padded ? pad[2 * pair] : 0;
    const int64_t after = pair < padded ? pad[2 * pair + 1] : 0;
    const int64_t limit = int64_t{1} << 32;
    RL_KERNEL_REQUIRE(context, std::abs(before) < limit && std::abs(after) < limit && in.size(i) + before + after >= 0,
                      InvalidArgument, "dim %lld of size %lld cannot be padded by %lld and %lld",
                      static_cast<long long>(i), static_cast<long long>(in.size(i)), static_cast<long long>(before),
                      static_cast<long long>(after));
    shape.set(i, in.size(i) + before + after);
    // A negative width removes elements.
    const int64_t first = std::max<int64_t>(0, -before);
    copied[i] = std::max<int64_t>(0, std::min<int64_t>(in.size(i), in.size(i) + after) - first);
    from += first * in.stride(i);
  }
  if (!require_same_dtype(context, in, out) || !resize_out(context, out, shape.span())) return;
  bool fills = false;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t pair = rank - 1 - i;
    if (pair < padded) to += std::max<int64_t>(0, pad[2 * pair]) * out.stride(i);
    loops.add(copied[i], in.stride(i), out.stride(i));
    fills = fills || copied[i] != out.size(i);
  }
  if (fills) fill_tensor(context, out, value);
  strided_copy(context, loops, at(in, from), at(out, to), in.element_size());
}

}  // namespace rushlight::portable
