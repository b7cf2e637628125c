#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "rushlight/core/kernel_context.h"

namespace rushlight::microkernels {

// Fewer float32 multiplications than this are faster on one thread. The same time suffices for twice as many int8
// multiplications, and for four times as many with int4 weights.
inline constexpr int64_t kSerialWork = 1 << 15;

// Calls body(worker, begin, end) on at most `workers` disjoint ranges that cover [0, count) and differ by one in
// length; `worker` counts them, so that each may have its own scratch memory.
template <typename Body>
void for_workers(KernelRuntimeContext& context, int64_t workers, int64_t count, const Body& body) {
  workers = std::min(workers, count);
  context.parallel_for(0, workers, 1, [&](int64_t first, int64_t last) {
    for (int64_t w = first; w < last; ++w) body(w, count * w / workers, count * (w + 1) / workers);
  });
}

// A range of work. Its owner takes parts from the front, and other workers take parts from the end.
class alignas(64) SharedRange {
 public:
  void set(int64_t begin, int64_t end) { range_.store(packed(begin, end), std::memory_order_relaxed); }

  // Takes a quarter of the rest, rounded down to a multiple of `least`, but at least `least`. Returns false if nothing
  // is left.
  bool take_first(int64_t least, int64_t* begin, int64_t* end) {
    uint64_t seen = range_.load(std::memory_order_relaxed), rest;
    do {
      if (!unpack(seen, begin, end)) return false;
      const int64_t middle = std::min(*end, *begin + std::max<int64_t>(1, (*end - *begin) / (4 * least)) * least);
      rest = packed(middle, *end);
      *end = middle;
    } while (!range_.compare_exchange_weak(seen, rest, std::memory_order_relaxed));
    return true;
  }

  // Takes the last `least` items, or all if fewer are left. Returns false if nothing is left.
  bool take_last(int64_t least, int64_t* begin, int64_t* end) {
    uint64_t seen = range_.load(std::memory_order_relaxed), rest;
    do {
      if (!unpack(seen, begin, end)) return false;
      const int64_t middle = std::max(*begin, *end - least);
      rest = packed(*begin, middle);
      *begin = middle;
    } while (!range_.compare_exchange_weak(seen, rest, std::memory_order_relaxed));
    return true;
  }

 private:
  static uint64_t packed(int64_t begin, int64_t end) {
    return static_cast<uint64_t>(begin) << 32 | static_cast<uint64_t>(end);
  }
  static bool unpack(uint64_t range, int64_t* begin, int64_t* end) {
    *begin = static_cast<int64_t>(range >> 32);
    *end = static_cast<int64_t>(range & 0xffffffff);
    return *begin < *end;
  }

  std::atomic<uint64_t> range_{0};
};

// A part of a GEMM has at least this many rows, because each part reads all weights.
inline constexpr int64_t kLeastRows = 48;

// As for_workers(), with work stealing: a worker calls body for parts of its range, of `least` items or more. A worker
// that has finished takes the last parts of other ranges, because cores differ in speed and in other load. Which worker
// calls body for a part is not deterministic.
template <typename Body>
void for_sharing_workers(KernelRuntimeContext& context, int64_t workers, int64_t count, int64_t least,
                         const Body& body) {
  constexpr int64_t kMostWorkers = 32;
  workers = std::min(workers, count);
  if (workers <= 1 || workers > kMostWorkers || count >> 32 != 0) return for_workers(context, workers, count, body);
  SharedRange ranges[kMostWorkers];
  for (int64_t w = 0; w < workers; ++w) ranges[w].set(count * w / workers, count * (w + 1) / workers);
  context.parallel_for(0, workers, 1, [&](int64_t first, int64_t last) {
    for (int64_t w = first; w < last; ++w) {
      int64_t begin, end;
      while (ranges[w].take_first(least, &begin, &end)) body(w, begin, end);
      for (int64_t i = 1; i < workers; ++i) {
        while (ranges[(w + i) % workers].take_last(least, &begin, &end)) body(w, begin, end);
      }
    }
  });
}

inline int64_t worker_count(const KernelRuntimeContext& context) {
  return static_cast<int64_t>(context.thread_count());
}

}  // namespace rushlight::microkernels
