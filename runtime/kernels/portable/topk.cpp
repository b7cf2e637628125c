#include "kernels/portable/reduction.h"
#include "kernels/shared/reduce.h"
#include "kernels/shared/sorting.h"

namespace rushlight::portable {

namespace {

// Moves the first k items in sorted order to the front, by insertion into a sorted list; for small k.
template <typename C>
void select_few(Indexed<C>* items, int64_t n, int64_t k, bool descending) {
  int64_t held = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Indexed<C> item = items[i];
    if (held == k && !goes_before(item.value, items[held - 1].value, descending)) continue;
    int64_t j = held < k ? held++ : held - 1;
    for (; j > 0 && goes_before(item.value, items[j - 1].value, descending); --j) items[j] = items[j - 1];
    items[j] = item;
  }
}

}  // namespace

void topk_values(KernelRuntimeContext& context, const Tensor& in, int64_t k, int64_t dim, bool largest, bool,
                 Tensor& values, Tensor& indices) {
  constexpr int64_t kFew = 16;
  int64_t axis;
  if (!normalize_dim(context, dim, in.dim(), &axis)) return;
  const int64_t n = in.dim() > 0 ? in.size(axis) : 1;
  RL_KERNEL_REQUIRE(context, k >= 0 && k <= n, InvalidArgument, "k is %lld, of %lld elements",
                    static_cast<long long>(k), static_cast<long long>(n));
  Shape shape;
  for (int64_t d = 0; d < in.dim(); ++d) shape.push(d == axis ? k : in.size(d));
  if (!resize_out(context, values, shape.span()) || !resize_out(context, indices, shape.span()) || k == 0) return;
  switch_compute<kinds::kReal>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Rows rows({in, values, indices}, axis);
    Indexed<C>* items = allocate_items<C>(context, n);
    if (!items) return;
    rows.for_each_serially([&](const int64_t* offsets) {
      read_items(in, offsets[0], rows.stride(0), n, items);
      if (k <= kFew) {
        select_few(items, n, k, largest);
      } else {
        merge_sort(items, items + n, n, largest);
      }
      write_items(items, k, values, offsets[1], rows.stride(1), indices, offsets[2], rows.stride(2));
    });
  });
}

}  // namespace rushlight::portable
