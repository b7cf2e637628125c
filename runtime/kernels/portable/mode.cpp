#include "kernels/portable/reduction.h"
#include "kernels/shared/selection.h"

namespace rushlight::portable {

namespace {

// Returns the last occurrence of the smallest of the most frequent elements.
struct MostFrequent {
  template <typename Item>
  const Item* operator()(Item* items, int64_t n) const {
    merge_sort(items, items + n, n, false);
    const Item* best = items;
    int64_t max_count = 0;
    for (int64_t begin = 0; begin < n;) {
      int64_t end = begin + 1;
      while (end < n && items[end].value == items[begin].value) ++end;
      if (end - begin > max_count) {
        max_count = end - begin;
        best = items + end - 1;
      }
      begin = end;
    }
    return best;
  }
};

}  // namespace

void mode_values(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool keepdim, Tensor& values,
                 Tensor& indices) {
  select_from_rows(context, in, dim, keepdim, values, indices, MostFrequent());
}

}  // namespace rushlight::portable
