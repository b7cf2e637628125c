#pragma once

#include <algorithm>

#include "kernels/shared/reduce.h"
#include "kernels/shared/sorting.h"

namespace rushlight {

// Reorders n items, and returns the item that a stable sort moves to position `rank`.
template <typename C>
const Indexed<C>* item_of_rank(Indexed<C>* items, int64_t n, int64_t rank) {
  std::nth_element(items, items + rank, items + n, [](const Indexed<C>& a, const Indexed<C>& b) {
    if (goes_before(a.value, b.value, false)) return true;
    return a.index < b.index && !goes_before(b.value, a.value, false);
  });
  return items + rank;
}

// Selects an item of each row along an axis. pick(items, n) returns a pointer to the selected item, and may reorder the
// items; behind them, there is memory for n more. The value and the index of the item are written. Sets the shapes of
// the outs. Fails if rows are empty.
template <typename Pick>
void select_from_rows(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool keepdim, const Tensor& values,
                      const Tensor& indices, const Pick& pick) {
  DimMask mask;
  if (!dim_mask(context, in, dim, &mask) || !require_nonempty(context, in, mask, "a selection")) return;
  const Shape shape = reduced_shape(in, mask, keepdim);
  if (!resize_out(context, values, shape.span()) || !resize_out(context, indices, shape.span())) return;
  int64_t axis;
  if (!normalize_dim(context, dim, in.dim(), &axis)) return;
  switch_compute<kinds::kReal>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    const int64_t n = in.dim() > 0 ? in.size(axis) : 1;
    Indexed<C>* items = allocate_items<C>(context, n);
    if (!items) return;
    // The nest has the dimensions of `in` without the reduced one. Its operands are `in` and the outs.
    LoopNest nest;
    nest.operands = 3;
    int64_t out_axis = 0;
    for (int64_t d = 0; d < in.dim(); ++d) {
      if (d != axis) nest.push(in.size(d), {in.stride(d), values.stride(out_axis), indices.stride(out_axis)});
      if (d != axis || keepdim) ++out_axis;
    }
    const int64_t stride = in.dim() > 0 ? in.stride(axis) : 1;
    for_each_row(nest, 0, nest.numel(), [&](const int64_t* offsets, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        read_items(in, offsets[0] + i * nest.inner_stride(0), stride, n, items);
        write_items(pick(items, n), 1, values, offsets[1] + i * nest.inner_stride(1), 1, indices,
                    offsets[2] + i * nest.inner_stride(2), 1);
      }
    });
  });
}

}  // namespace rushlight
