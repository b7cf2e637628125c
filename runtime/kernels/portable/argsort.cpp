#include "kernels/portable/reduction.h"
#include "kernels/shared/sorting.h"

namespace rushlight::portable {

void argsort_stable_out(KernelRuntimeContext& context, const Tensor& in, bool, int64_t dim, bool descending,
                        Tensor& out) {
  int64_t axis;
  if (!normalize_dim(context, dim, in.dim(), &axis) || !resize_out_like(context, out, in)) return;
  switch_compute<kinds::kReal>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Rows rows({in, out}, axis);
    const int64_t n = rows.length(0);
    Indexed<C>* items = allocate_items<C>(context, n);
    if (!items) return;
    const Convert store = store_function(ScalarType::Long, out.scalar_type());
    rows.for_each_serially([&](const int64_t* offsets) {
      read_items(in, offsets[0], rows.stride(0), n, items);
      merge_sort(items, items + n, n, descending);
      store(&items->index, sizeof(Indexed<C>) / sizeof(int64_t), at(out, offsets[1]), rows.stride(1), n);
    });
  });
}

}  // namespace rushlight::portable
