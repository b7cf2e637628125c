#include "rushlight/platform/platform.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "rushlight/core/result.h"
#include "rushlight/threads/thread_pool.h"

namespace rushlight::platform {
namespace {

std::string logged;

TEST(Platform, DefaultsWork) {
  const uint64_t before = now_ns();
  EXPECT_LE(before, now_ns());
  for (const size_t alignment : {1, 8, 64, 4096}) {
    void* memory = allocate(100, alignment);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % alignment, 0u);
    release(memory);
  }
  void* nothing = allocate(0, 16);
  EXPECT_NE(nothing, nullptr);
  release(nothing);
  EXPECT_EQ(allocate(SIZE_MAX / 2, 64), nullptr);
}

TEST(Platform, DefaultThreadsRunAndEnd) {
  std::atomic<int> calls{0};
  void* threads[4];
  for (void*& thread : threads) {
    thread = start_thread([](void* context) { ++*static_cast<std::atomic<int>*>(context); }, &calls);
    ASSERT_NE(thread, nullptr);
  }
  for (void* thread : threads) join_thread(thread);
  EXPECT_EQ(calls, 4);
}

TEST(Platform, HooksReplaceThreads) {
  static std::atomic<int> started, joined;
  started = joined = 0;
  Hooks hooks;
  hooks.thread_start = [](void (*run)(void*), void* context) -> void* {
    ++started;
    return rushlight_thread_start(run, context);
  };
  hooks.thread_join = [](void* thread) {
    ++joined;
    rushlight_thread_join(thread);
  };
  set_hooks(hooks);
  {
    HostThreadPool pool(3);
    std::atomic<int> calls{0};
    pool.run(100, [](void* context, size_t) { ++*static_cast<std::atomic<int>*>(context); }, &calls);
    EXPECT_EQ(calls, 100);
    EXPECT_EQ(started, 2);
  }
  EXPECT_EQ(joined, 2);
  // A system without threads: the calling thread does all work.
  hooks.thread_start = [](void (*)(void*), void*) -> void* { return nullptr; };
  set_hooks(hooks);
  HostThreadPool pool(3);
  std::atomic<int> calls{0};
  pool.run(100, [](void* context, size_t) { ++*static_cast<std::atomic<int>*>(context); }, &calls);
  EXPECT_EQ(calls, 100);
  set_hooks({});
}

TEST(PlatformDeathTest, ThePanicHookGetsTheMessage) {
  Hooks hooks;
  hooks.panic = [](const char* message) {
    std::fprintf(stderr, "panic of the application: %s", message);
    std::_Exit(7);
  };
  set_hooks(hooks);
  const auto read_an_error = [] {
    const Result<int> result(fail(Error::NotFound, "no method 'backward'"));
    std::_Exit(*result);
  };
  EXPECT_EXIT(read_an_error(), testing::ExitedWithCode(7),
              "panic of the application: cannot read a Result with the error NotFound: no method 'bac");
  set_hooks({});
}

TEST(PlatformDeathTest, ThePanicOfTheSystemLogsAndAborts) {
  EXPECT_DEATH(panic("a reason"), "rushlight error: a reason");
  // panic() ends the process also if the hook returns.
  Hooks hooks;
  hooks.panic = [](const char*) {};
  set_hooks(hooks);
  EXPECT_DEATH(panic("a reason"), "rushlight error: a reason");
  set_hooks({});
}

TEST(Platform, HooksReplaceTheDefaults) {
  Hooks hooks;
  hooks.now_ns = []() -> uint64_t { return 42; };
  hooks.log = [](LogLevel level, const char* message) { logged = std::to_string(static_cast<int>(level)) + message; };
  set_hooks(hooks);
  EXPECT_EQ(now_ns(), 42u);
  log(LogLevel::Error, "%s %d", "number", 5);
  EXPECT_EQ(logged, "3number 5");
  void* memory = allocate(8, 8);  // these functions are not replaced
  EXPECT_NE(memory, nullptr);
  release(memory);
  hooks.allocate = [](size_t size, size_t) -> void* { return size == 8 ? &logged : nullptr; };
  hooks.release = [](void* given) { logged = given == &logged ? "released" : "something else"; };
  set_hooks(hooks);
  EXPECT_EQ(allocate(8, 8), &logged);
  release(&logged);
  EXPECT_EQ(logged, "released");
  set_hooks({});
  EXPECT_NE(now_ns(), 42u);
}

}  // namespace
}  // namespace rushlight::platform
