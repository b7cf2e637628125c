#include <limits>
#include <type_traits>

#include "kernels/portable/reduction.h"
#include "kernels/shared/selection.h"

namespace rushlight::portable {

namespace {

// Returns the lower median, or the first NaN if there is one.
struct LowerMedian {
  template <typename Item>
  const Item* operator()(Item* items, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) {
      if (items[i].value != items[i].value) return items + i;
    }
    return item_of_rank(items, n, (n - 1) / 2);
  }
};

// Returns the median of no elements: NaN, or the integer to which eager PyTorch converts NaN.
template <typename C>
C median_of_nothing(ScalarType type) {
  if constexpr (std::is_same_v<C, int64_t>) {
    if (type == ScalarType::Long) return std::numeric_limits<int64_t>::min();
    return type == ScalarType::Int ? std::numeric_limits<int32_t>::min() : 0;
  } else {
    return std::numeric_limits<C>::quiet_NaN();
  }
}

}  // namespace

void median_dim_values(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool keepdim, Tensor& values,
                       Tensor& indices) {
  select_from_rows(context, in, dim, keepdim, values, indices, LowerMedian());
}

void median_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  if (!resize_out(context, out, {})) return;
  switch_compute<kinds::kReal>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    const int64_t n = in.numel();
    const Convert store = store_function(scalar_type_of<C>, out.scalar_type());
    if (n == 0) {
      const Indexed<C> nothing{median_of_nothing<C>(in.scalar_type()), 0};
      return store(&nothing, 1, at(out, 0), 1, 1);
    }
    Indexed<C>* items = allocate_items<C>(context, n);
    if (!items) return;
    read_items(in, 0, 1, n, items);
    store(LowerMedian()(items, n), 1, at(out, 0), 1, 1);
  });
}

}  // namespace rushlight::portable
