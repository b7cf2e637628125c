#include "kernels/portable/reduction.h"
#include "kernels/shared/largest.h"

namespace rushlight::portable {

void topk_values(KernelRuntimeContext& context, const Tensor& in, int64_t k, int64_t dim, bool largest, bool sorted,
                 Tensor& values, Tensor& indices) {
  int64_t axis;
  if (!normalize_dim(context, dim, in.dim(), &axis)) return;
  const int64_t n = in.dim() > 0 ? in.size(axis) : 1;
  RL_KERNEL_REQUIRE(context, k >= 0 && k <= n, InvalidArgument, "k is %lld, but must be in [0, %lld]",
                    static_cast<long long>(k), static_cast<long long>(n));
  if (in.dim() == 0) k = 1;  // as in eager PyTorch, the result is the element also if k is 0
  Shape shape;
  for (int64_t d = 0; d < in.dim(); ++d) shape.push(d == axis ? k : in.size(d));
  if (!resize_out(context, values, shape.span()) || !resize_out(context, indices, shape.span()) || k == 0) return;
  switch_compute<kinds::kReal>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Rows rows({in, values, indices}, axis);
    Indexed<C>* items = context.allocate_temporary_array<Indexed<C>>(static_cast<size_t>(n));
    if (!items) return;
    rows.for_each_serially([&](const int64_t* offsets) {
      read_items(in, offsets[0], rows.stride(0), n, items);
      select_first(items, n, k, largest, sorted);
      write_items(items, k, values, offsets[1], rows.stride(1), indices, offsets[2], rows.stride(2));
    });
  });
}

}  // namespace rushlight::portable
