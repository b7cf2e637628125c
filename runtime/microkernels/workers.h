#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "rushlight/core/kernel_context.h"

namespace rushlight::microkernels {

// With fewer float32 multiplications than this, one thread is faster. In the same time, a thread does twice as many
// int8 multiplications, or four times as many with int4 weights.
inline constexpr int64_t kSerialWork = 1 << 15;

// Calls body(worker, begin, end) on at most `workers` disjoint ranges that cover [0, count). Their lengths differ by at
// most one. `worker` is the index of the range, so that each range may have its own scratch memory.
template <typename Body>
void for_workers(KernelRuntimeContext& context, int64_t workers, int64_t count, const Body& body) {
  workers = std::min(workers, count);
  context.parallel_for(0, workers, 1, [&](int64_t first, int64_t last) {
    for (int64_t w = first; w < last; ++w) body(w, count * w / workers, count * (w + 1) / workers);
  });
}

// A range of items. Its owner takes items from the beginning, and other workers take items from the end.
class alignas(64) SharedRange {
 public:
  void set(int64_t begin, int64_t end) { range_.store(packed(begin, end), std::memory_order_relaxed); }

  // Takes a quarter of the remaining items, rounded down to a multiple of `least`, but at least `least`. Returns false
  // if no items are left.
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

  // Takes the last `least` items, or all if fewer are left. Returns false if no items are left.
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
inline constexpr int64_t kMinRows = 48;

// A function body(worker, begin, end) as a pointer to code that calls it.
struct RangeBody {
  void (*call)(const void* body, int64_t worker, int64_t begin, int64_t end);
  const void* body;
  void operator()(int64_t worker, int64_t begin, int64_t end) const { call(body, worker, begin, end); }
};
void share_ranges(KernelRuntimeContext& context, int64_t workers, int64_t count, int64_t least, const RangeBody& body);

// As for_workers(), with work stealing. A worker calls body for parts of its range, of `least` or more items. A worker
// that has finished takes the last parts of other ranges, because cores have different speeds and loads. Which worker
// calls body for a part is not deterministic.
template <typename Body>
void for_sharing_workers(KernelRuntimeContext& context, int64_t workers, int64_t count, int64_t least,
                         const Body& body) {
  const auto call = [](const void* function, int64_t worker, int64_t begin, int64_t end) {
    (*static_cast<const Body*>(function))(worker, begin, end);
  };
  share_ranges(context, workers, count, least, {call, &body});
}

inline int64_t worker_count(const KernelRuntimeContext& context) {
  return static_cast<int64_t>(context.thread_count());
}

}  // namespace rushlight::microkernels
