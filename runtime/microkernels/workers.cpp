#include "microkernels/workers.h"

namespace rushlight::microkernels {

void share_ranges(KernelRuntimeContext& context, int64_t workers, int64_t count, int64_t least, const RangeBody& body) {
#if defined(RUSHLIGHT_SINGLE_THREAD)
  static_cast<void>(least);
  for_workers(context, workers, count, body);
#else
  constexpr int64_t kMaxWorkers = 32;
  workers = std::min(workers, count);
  if (workers <= 1 || workers > kMaxWorkers || count >> 32 != 0) return for_workers(context, workers, count, body);
  SharedRange ranges[kMaxWorkers];
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
#endif
}

}  // namespace rushlight::microkernels
