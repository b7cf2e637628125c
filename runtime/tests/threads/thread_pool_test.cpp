#include "rushlight/threads/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <set>
#include <thread>
#include <vector>

#include "rushlight/core/kernel_context.h"

namespace rushlight {
namespace {

struct Counts {
  explicit Counts(size_t size) : hits(size) {}
  std::vector<std::atomic<int>> hits;
};

void hit(void* context, size_t index) { static_cast<Counts*>(context)->hits[index].fetch_add(1); }

void expect_each_once(ThreadPool& pool, size_t count) {
  Counts counts(count);
  pool.run(count, hit, &counts);
  for (size_t i = 0; i < count; ++i) ASSERT_EQ(counts.hits[i].load(), 1) << i << " of " << count;
}

TEST(ThreadPool, CallsEachIndexOnce) {
  for (const size_t threads : {1, 2, 3, 8}) {
    HostThreadPool pool(threads);
    EXPECT_EQ(pool.thread_count(), threads);
    for (const size_t count : {0, 1, 2, 7, 100, 1000}) expect_each_once(pool, count);
  }
}

TEST(ThreadPool, IsReusedQuicklyAndAfterSleep) {
  HostThreadPool pool(3);
  for (int i = 0; i < 2000; ++i) expect_each_once(pool, 5);
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    expect_each_once(pool, 5);
  }
}

TEST(ThreadPool, RunsNestedCallsSerially) {
  HostThreadPool pool(2);
  struct Outer {
    HostThreadPool* pool;
    std::atomic<int> inner{0};
    std::atomic<bool> stayed{true};
  } outer{&pool};
  pool.run(
      4,
      [](void* context, size_t) {
        auto& o = *static_cast<Outer*>(context);
        struct Inner {
          Outer* outer;
          std::thread::id thread;
        } inner{&o, std::this_thread::get_id()};
        o.pool->run(
            10,
            [](void* nested, size_t) {
              auto& i = *static_cast<Inner*>(nested);
              i.outer->inner.fetch_add(1);
              if (std::this_thread::get_id() != i.thread) i.outer->stayed = false;
            },
            &inner);
      },
      &outer);
  EXPECT_EQ(outer.inner.load(), 40);
  EXPECT_TRUE(outer.stayed.load());
}

TEST(ThreadPool, ServesSeveralCallersAtOnce) {
  HostThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<bool> is_right{true};
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        Counts counts(20);
        pool.run(20, hit, &counts);
        for (const auto& count : counts.hits) {
          if (count.load() != 1) is_right = false;
        }
      }
    });
  }
  for (std::thread& thread : callers) thread.join();
  EXPECT_TRUE(is_right.load());
}

TEST(ThreadPool, ChangesItsSize) {
  HostThreadPool pool(1);
  for (const size_t threads : {4, 2, 1, 3}) {
    pool.set_thread_count(threads);
    EXPECT_EQ(pool.thread_count(), threads);
    expect_each_once(pool, 50);
  }
  pool.set_thread_count(0);
  EXPECT_EQ(pool.thread_count(), 1u);
}

TEST(ThreadPool, WorksInAForkedChild) {
  HostThreadPool pool(3);
  expect_each_once(pool, 50);
  // The child process must not hang, in any state of the parent's threads.
  for (int i = 0; i < 5; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Counts counts(50);
      pool.run(50, hit, &counts);
      for (const auto& count : counts.hits) {
        if (count.load() != 1) _exit(1);
      }
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  expect_each_once(pool, 50);
}

TEST(ThreadPool, WorksInAChildForkedWhileItIsBusy) {
  HostThreadPool pool(2);
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) expect_each_once(pool, 10);
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      Counts counts(10);
      pool.run(10, hit, &counts);
      _exit(counts.hits[9].load() == 1 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  stop = true;
  busy.join();
}

TEST(ThreadPool, DefaultCountFollowsTheEnvironment) {
  setenv("RUSHLIGHT_NUM_THREADS", "5", 1);
  EXPECT_EQ(default_thread_count(), 5u);
  setenv("RUSHLIGHT_NUM_THREADS", "many", 1);
  EXPECT_GE(default_thread_count(), 1u);
  unsetenv("RUSHLIGHT_NUM_THREADS");
  EXPECT_LE(default_thread_count(), std::thread::hardware_concurrency());
}

TEST(ParallelFor, CoversTheRangeInMultiplesOfTheGrain) {
  HostThreadPool pool(3);
  KernelRuntimeContext context(nullptr, &pool);
  for (const int64_t end : {0, 1, 7, 8, 9, 64, 100}) {
    std::vector<std::atomic<int>> hits(100);
    std::atomic<bool> is_aligned{true};
    context.parallel_for(0, end, 8, [&](int64_t first, int64_t last) {
      if (first % 8 != 0 || (last % 8 != 0 && last != end)) is_aligned = false;
      for (int64_t i = first; i < last; ++i) hits[static_cast<size_t>(i)].fetch_add(1);
    });
    EXPECT_TRUE(is_aligned.load());
    for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(hits[static_cast<size_t>(i)].load(), i < end ? 1 : 0);
  }
}

}  // namespace
}  // namespace rushlight
