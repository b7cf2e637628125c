#pragma once

#include <cstdint>

#include "kernels/shared/convert.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/rows.h"
#include "kernels/shared/shape.h"

namespace rushlight {

template <typename C>
struct Indexed {
  C value;
  int64_t index;
};

// Returns whether a comes before b in the sorted order. NaN is greater than any number.
template <typename C>
bool goes_before(C a, C b, bool descending) {
  if (descending) return a > b || (a != a && b == b);
  return a < b || (b != b && a == a);
}

// Sorts items[n] stably: runs are sorted by insertion and then merged. `scratch` has n items.
template <typename C>
void merge_sort(Indexed<C>* items, Indexed<C>* scratch, int64_t n, bool descending) {
  constexpr int64_t kRun = 16;
  for (int64_t begin = 0; begin < n; begin += kRun) {
    const int64_t end = n - begin < kRun ? n : begin + kRun;
    for (int64_t i = begin + 1; i < end; ++i) {
      const Indexed<C> item = items[i];
      int64_t j = i;
      for (; j > begin && goes_before(item.value, items[j - 1].value, descending); --j) items[j] = items[j - 1];
      items[j] = item;
    }
  }
  Indexed<C>*from = items, *to = scratch;
  for (int64_t width = kRun; width < n; width *= 2) {
    for (int64_t begin = 0; begin < n; begin += 2 * width) {
      const int64_t middle = n - begin < width ? n : begin + width;
      const int64_t end = n - middle < width ? n : middle + width;
      int64_t left = begin, right = middle;
      for (int64_t i = begin; i < end; ++i) {
        const bool take_right =
            right < end && (left >= middle || goes_before(from[right].value, from[left].value, descending));
        to[i] = from[take_right ? right++ : left++];
      }
    }
    Indexed<C>* swap = from;
    from = to;
    to = swap;
  }
  for (int64_t i = 0; from != items && i < n; ++i) items[i] = from[i];
}

// Returns a buffer for the items of one row and their scratch memory. If there is no memory, records the failure and
// returns null.
template <typename C>
Indexed<C>* allocate_items(KernelRuntimeContext& context, int64_t n) {
  return context.allocate_temporary_array<Indexed<C>>(2 * static_cast<size_t>(n > 0 ? n : 1));
}

// Reads a row of n elements.
template <typename C>
void read_items(const Tensor& in, int64_t offset, int64_t stride, int64_t n, Indexed<C>* items) {
  static_assert(sizeof(Indexed<C>) % sizeof(C) == 0);
  load_function(in.scalar_type(), scalar_type_of<C>)(at(in, offset), stride, items, sizeof(Indexed<C>) / sizeof(C), n);
  for (int64_t i = 0; i < n; ++i) items[i].index = i;
}

// Writes the values and indices of n items.
template <typename C>
void write_items(const Indexed<C>* items, int64_t n, const Tensor& values, int64_t value_offset, int64_t value_stride,
                 const Tensor& indices, int64_t index_offset, int64_t index_stride) {
  store_function(scalar_type_of<C>, values.scalar_type())(items, sizeof(Indexed<C>) / sizeof(C),
                                                          at(values, value_offset), value_stride, n);
  store_function(ScalarType::Long, indices.scalar_type())(&items->index, sizeof(Indexed<C>) / sizeof(int64_t),
                                                          at(indices, index_offset), index_stride, n);
}

}  // namespace rushlight
