#include <algorithm>
#include <optional>

#include "kernels/portable/reduction.h"
#include "kernels/shared/reduce.h"
#include "kernels/shared/sorting.h"

namespace rushlight::portable {

void sort_values_stable(KernelRuntimeContext& context, const Tensor& in, std::optional<bool> stable, int64_t dim,
                        bool descending, Tensor& values, Tensor& indices) {
  int64_t axis;
  if (!normalize_dim(context, dim, in.dim(), &axis) || !resize_out_like(context, values, in) ||
      !resize_out_like(context, indices, in)) {
    return;
  }
  switch_compute<kinds::kReal>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Rows rows({in, values, indices}, axis);
    const int64_t n = rows.length(0);
    Indexed<C>* items = allocate_items<C>(context, n);
    if (!items) return;
    const auto before = [descending](const Indexed<C>& a, const Indexed<C>& b) {
      return goes_before(a.value, b.value, descending);
    };
    rows.for_each_serially([&](const int64_t* offsets) {
      read_items(in, offsets[0], rows.stride(0), n, items);
      // Equal elements get the same order as in eager PyTorch with the same standard library.
      if (stable.value_or(false)) {
        merge_sort(items, items + n, n, descending);
      } else {
        std::sort(items, items + n, before);
      }
      write_items(items, n, values, offsets[1], rows.stride(1), indices, offsets[2], rows.stride(2));
    });
  });
}

void sort_values(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool descending, Tensor& values,
                 Tensor& indices) {
  sort_values_stable(context, in, false, dim, descending, values, indices);
}

}  // namespace rushlight::portable
