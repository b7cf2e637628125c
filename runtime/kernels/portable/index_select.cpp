#include "kernels/portable/index.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/index_reader.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void index_select_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index, Tensor& out) {
  int64_t axis;
  if (!normalize_dim(context, dim, in.dim(), &axis) || !require_same_dtype(context, in, out)) return;
  RL_KERNEL_REQUIRE(context, index.dim() <= 1, InvalidArgument, "the index has rank %lld, not 0 or 1",
                    static_cast<long long>(index.dim()));
  if (!require_indices(context, index, 0, size_at(in, axis))) return;
  Shape shape(in.sizes());
  if (in.dim() > 0) shape.set(axis, index.numel());
  RL_KERNEL_REQUIRE(context, in.dim() > 0 || index.numel() == 1, InvalidArgument,
                    "one element is selected from a zero-dim tensor, not %lld", static_cast<long long>(index.numel()));
  if (!resize_out(context, out, shape.span()) || out.numel() == 0) return;
  StridedLoops slice;
  for (int64_t i = 0; i < in.dim(); ++i) {
    if (i != axis) slice.add(in.size(i), in.stride(i), out.stride(i));
  }
  const IndexReader positions(index);
  const int64_t from = stride_at(in, axis), to = stride_at(out, axis);
  const int64_t grain = 16384 / (slice.numel() + 1) + 1;
  context.parallel_for(0, index.numel(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      strided_copy(context, slice, at(in, positions[i] * from), at(out, i * to), in.element_size());
    }
  });
}

}  // namespace rushlight::portable
