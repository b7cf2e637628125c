#include "rushlight/platform/platform.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

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

TEST(Platform, HooksReplaceTheDefaults) {
  Hooks hooks;
  hooks.now_ns = []() -> uint64_t { return 42; };
  hooks.log = [](LogLevel level, const char* message) { logged = std::to_string(static_cast<int>(level)) + message; };
  set_hooks(hooks);
  EXPECT_EQ(now_ns(), 42u);
  log(LogLevel::Error, "%s %d", "number", 5);
  EXPECT_EQ(logged, "3number 5");
  void* memory = allocate(8, 8);  // not replaced
  EXPECT_NE(memory, nullptr);
  release(memory);
  set_hooks({});
  EXPECT_NE(now_ns(), 42u);
}

}  // namespace
}  // namespace rushlight::platform
