#include "backends/cpu/loops.h"

#include <utility>

namespace rushlight::cpu {

Loops make_loops(const View* const* views, int count) {
  Loops loops;
  int order[kMaxRank];
  int rank = 0;
  for (int i = 0; i < views[0]->rank; ++i) {
    if (views[0]->sizes[i] != 1) order[rank++] = i;
  }
  // This is an insertion sort, because std::stable_sort would allocate memory.
  for (int i = 1; i < rank; ++i) {
    for (int j = i; j > 0 && views[0]->strides[order[j - 1]] < views[0]->strides[order[j]]; --j) {
      std::swap(order[j - 1], order[j]);
    }
  }
  for (int i = 0; i < rank; ++i) {
    const int axis = order[i];
    const int64_t size = views[0]->sizes[axis];
    bool merges = loops.rank > 0;
    for (int v = 0; v < count && merges; ++v) {
      merges = loops.strides[v][loops.rank - 1] == views[v]->strides[axis] * size;
    }
    const int at = merges ? loops.rank - 1 : loops.rank++;
    loops.sizes[at] = merges ? loops.sizes[at] * size : size;
    for (int v = 0; v < count; ++v) loops.strides[v][at] = views[v]->strides[axis];
  }
  return loops;
}

}  // namespace rushlight::cpu
