#include "kernels/portable/reduction.h"
#include "kernels/shared/selection.h"

namespace rushlight::portable {

namespace {

// The lower median of sorted items, or the first NaN if there is one.
struct LowerMedian {
  template <typename Item>
  const Item* operator()(const Item* items, int64_t n) const {
    if (items[n - 1].value == items[n - 1].value) return items + (n - 1) / 2;
    int64_t first = n - 1;
    while (first > 0 && items[first - 1].value != items[first - 1].value) --first;
    return items + first;
  }
};

}  // namespace

void median_dim_values(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool keepdim, Tensor& values,
                       Tensor& indices) {
  select_from_rows(context, in, dim, keepdim, values, indices, LowerMedian());
}

void median_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  if (!resize_out(context, out, {})) return;
  RL_KERNEL_REQUIRE(context, in.numel() > 0, InvalidArgument, "the median of no elements is not defined");
  switch_compute<kinds::kReal>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    const int64_t n = in.numel();
    Indexed<C>* items = allocate_items<C>(context, n);
    if (!items) return;
    read_items(in, 0, 1, n, items);
    merge_sort(items, items + n, n, false);
    store_function(scalar_type_of<C>, out.scalar_type())(LowerMedian()(items, n), 1, at(out, 0), 1, 1);
  });
}

}  // namespace rushlight::portable
