#pragma once

#include <cstdint>

namespace rushlight {

// Returns the number of elements below x or, with `right`, not above x. The `n` elements are ascending. As in
// eager PyTorch, an element that is NaN is treated as below every number. get(i) returns element i.
template <typename C, typename Get>
int64_t count_below(int64_t n, C x, bool right, const Get& get) {
  int64_t begin = 0, end = n;
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;
    const C y = get(middle);
    const bool below = right ? !(y > x) : !(y >= x);
    if (below) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

}  // namespace rushlight
