#include "microkernels/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "rushlight/threads/thread_pool.h"

namespace rushlight::microkernels {
namespace {

TEST(SharingWorkers, CoverEverythingOnce) {
  for (const size_t threads : {1, 2, 3}) {
    HostThreadPool pool(threads);
    KernelRuntimeContext context(nullptr, &pool);
    for (const int64_t workers : {1, 2, 3, 40}) {
      for (const int64_t count : {0, 1, 5, 24, 100}) {
        for (const int64_t least : {1, 7, 200}) {
          std::vector<std::atomic<int>> calls(static_cast<size_t>(count)), busy(static_cast<size_t>(workers));
          for_sharing_workers(context, workers, count, least, [&](int64_t worker, int64_t begin, int64_t end) {
            EXPECT_EQ(busy[static_cast<size_t>(worker)].fetch_add(1), 0) << "scratch memory of two at once";
            for (int64_t i = begin; i < end; ++i) calls[static_cast<size_t>(i)].fetch_add(1);
            busy[static_cast<size_t>(worker)].fetch_sub(1);
          });
          for (const auto& call : calls) ASSERT_EQ(call.load(), 1) << count << " by " << least;
        }
      }
    }
  }
}

// The first worker waits until the other worker has done everything except the first worker's first part.
TEST(SharingWorkers, TakeWhatASlowOneLeft) {
#if defined(__wasm__)
  GTEST_SKIP() << "the host of a WebAssembly module starts its threads";
#endif
  HostThreadPool pool(2);
  if (pool.thread_count() < 2) GTEST_SKIP() << "needs threads";
  KernelRuntimeContext context(nullptr, &pool);
  constexpr int64_t kCount = 64;
  std::atomic<int64_t> done{0}, first{0};
  for_sharing_workers(context, 2, kCount, 1, [&](int64_t worker, int64_t begin, int64_t end) {
    if (worker == 0 && begin == 0) {
      first.store(end);
      while (done.load() + end < kCount) continue;  // WASI has no yield function
    }
    done.fetch_add(end - begin);
  });
  EXPECT_EQ(done.load(), kCount);
  EXPECT_LT(first.load(), kCount / 4);
}

TEST(SharingWorkers, ARangeIsTakenFromBothEnds) {
  SharedRange range;
  range.set(3, 40);
  int64_t begin, end;
  ASSERT_TRUE(range.take_first(2, &begin, &end));
  EXPECT_EQ(begin, 3);
  EXPECT_EQ(end, 11);  // a quarter of 37, in twos
  ASSERT_TRUE(range.take_last(2, &begin, &end));
  EXPECT_EQ(begin, 38);
  EXPECT_EQ(end, 40);
  while (range.take_first(50, &begin, &end)) EXPECT_EQ(end, 38);
  EXPECT_FALSE(range.take_last(1, &begin, &end));
}

}  // namespace
}  // namespace rushlight::microkernels
