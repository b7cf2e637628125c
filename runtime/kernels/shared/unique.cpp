#include "kernels/shared/unique.h"

#include "kernels/shared/loop_nest.h"
#include "kernels/shared/sorting.h"

namespace rushlight {

void unique_runs(KernelRuntimeContext& context, const Tensor& in, bool sorts, bool return_inverse, bool return_counts,
                 const Tensor& values, const Tensor& inverse, const Tensor& counts) {
  RL_KERNEL_REQUIRE(context, is_contiguous_dim_order(inverse.dim_order()), NotSupported,
                    "the output of inverse indices must be contiguous");
  switch_compute<kinds::kReal>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    const int64_t n = in.numel();
    Indexed<C>* items = allocate_items<C>(context, n);
    if (!items) return;
    LoopNest nest = LoopNest::over(in.sizes());
    nest.add(in);
    int64_t read = 0;
    for_each_row(nest, 0, n, [&](const int64_t* offsets, int64_t count) {
      read_items(in, offsets[0], nest.inner_stride(0), count, items + read);
      for (int64_t i = 0; i < count; ++i) items[read + i].index = read + i;
      read += count;
    });
    if (sorts) merge_sort(items, items + n, n, false);
    int64_t runs = 0;
    for (int64_t i = 0; i < n; ++i) runs += i == 0 || !(items[i].value == items[i - 1].value);
    if (!resize_out(context, values, {runs}) || !resize_out(context, counts, {return_counts ? runs : 0}) ||
        !(return_inverse ? resize_out_like(context, inverse, in) : resize_out(context, inverse, {0}))) {
      return;
    }
    const Convert store_value = store_function(scalar_type_of<C>, values.scalar_type());
    const Convert store_inverse = store_function(ScalarType::Long, inverse.scalar_type());
    const Convert store_count = store_function(ScalarType::Long, counts.scalar_type());
    int64_t run = -1, length = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (i == 0 || !(items[i].value == items[i - 1].value)) {
        store_value(&items[i].value, 1, at(values, ++run), 1, 1);
        length = 0;
      }
      ++length;
      if (return_inverse) store_inverse(&run, 1, at(inverse, items[i].index), 1, 1);
      if (return_counts) store_count(&length, 1, at(counts, run), 1, 1);
    }
  });
}

}  // namespace rushlight
