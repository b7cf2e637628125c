// The system functions that this program defines replace the library's weak ones.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "rushlight/core/result.h"
#include "rushlight/module/file_loader.h"
#include "rushlight/platform/platform.h"
#include "rushlight/threads/thread_pool.h"

namespace {

std::string logged;
std::atomic<int> allocated, released, started, joined;

}  // namespace

extern "C" {

uint64_t rushlight_now_ns() { return 1234; }

void rushlight_log(int level, const char* message) { logged = std::to_string(level) + message; }

void rushlight_panic(const char* message) {
  std::fprintf(stderr, "linked panic: %s", message);
  std::_Exit(9);
}

void* rushlight_allocate(size_t size, size_t alignment) {
  ++allocated;
  return std::aligned_alloc(alignment < 64 ? 64 : alignment, (size + 63) / 64 * 64 + 64);
}

void rushlight_release(void* memory) {
  ++released;
  std::free(memory);
}

// This system has no threads: pools work on the calling thread.
void* rushlight_thread_start(void (*)(void*), void*) {
  ++started;
  return nullptr;
}

void rushlight_thread_join(void*) { ++joined; }
}

namespace rushlight::platform {
namespace {

TEST(Linked, ClockLogAndPanicAreThoseOfTheProgram) {
  EXPECT_EQ(now_ns(), 1234u);
  RL_LOG(Warning, "%s %d", "number", 5);
  EXPECT_EQ(logged, "2number 5");
  EXPECT_EXIT(panic("a reason"), testing::ExitedWithCode(9), "linked panic: a reason");
}

TEST(Linked, MemoryIsThatOfTheProgram) {
  allocated = released = 0;
  release(allocate(100, 64));
  EXPECT_EQ(allocated, 1);
  EXPECT_EQ(released, 1);
  // File loaders also allocate memory with these functions.
  auto loader = FileDataLoader::open(RUSHLIGHT_TEST_DATA "/format/every_kind.pte");
  ASSERT_TRUE(loader.ok()) << last_error_message();
  {
    auto bytes = (*loader)->load(0, 16, SegmentKind::Program);
    ASSERT_TRUE(bytes.ok());
    EXPECT_GT(allocated, 1);
  }
  EXPECT_EQ(allocated, released);
}

TEST(Linked, ThreadsAreThoseOfTheProgram) {
  started = joined = 0;
  HostThreadPool pool(4);
  std::atomic<int> calls{0};
  pool.run(50, [](void* context, size_t) { ++*static_cast<std::atomic<int>*>(context); }, &calls);
  EXPECT_EQ(calls, 50);
  EXPECT_GE(started, 1);
  EXPECT_EQ(joined, 0);
}

}  // namespace
}  // namespace rushlight::platform
