#pragma once

#include <algorithm>
#include <cstdint>

#include "rushlight/core/kernel_context.h"

namespace rushlight::optimized {

// Calls body(worker, begin, end) on at most `workers` disjoint ranges that cover [0, count) and differ by one in
// length; `worker` counts them, so that each may have its own scratch memory.
template <typename Body>
void for_workers(KernelRuntimeContext& context, int64_t workers, int64_t count, const Body& body) {
  workers = std::min(workers, count);
  context.parallel_for(0, workers, 1, [&](int64_t first, int64_t last) {
    for (int64_t w = first; w < last; ++w) body(w, count * w / workers, count * (w + 1) / workers);
  });
}

inline int64_t worker_count(const KernelRuntimeContext& context) {
  return static_cast<int64_t>(context.thread_count());
}

}  // namespace rushlight::optimized
