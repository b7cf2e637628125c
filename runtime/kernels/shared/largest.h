#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/shared/sorting.h"

namespace rushlight {

// Moves the k largest or smallest of n items to the front, 0 < k <= n, in order if `sorted`. Of equal elements, it
// selects the same ones in the same order as eager PyTorch with the same standard library.
template <typename C>
void select_first(Indexed<C>* items, int64_t n, int64_t k, bool largest, bool sorted) {
  const auto before = [largest](const Indexed<C>& a, const Indexed<C>& b) {
    return goes_before(a.value, b.value, largest);
  };
  if (k * 64 <= n) {
    std::partial_sort(items, items + k, items + n, before);
    return;
  }
  std::nth_element(items, items + k - 1, items + n, before);
  if (sorted) std::sort(items, items + k - 1, before);
}

}  // namespace rushlight
