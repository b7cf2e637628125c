// With an operating system: its steady clock, stderr and the C library's heap.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "rushlight/platform/platform.h"

namespace rushlight::platform {
namespace {

// RUSHLIGHT_LOG=debug shows debug messages and information, RUSHLIGHT_LOG=info shows information.
LogLevel threshold() {
  const char* level = std::getenv("RUSHLIGHT_LOG");
  if (!level) return LogLevel::Warning;
  switch (level[0]) {
    case 'd':
      return LogLevel::Debug;
    case 'i':
      return LogLevel::Info;
    case 'e':
      return LogLevel::Error;
    default:
      return LogLevel::Warning;
  }
}

}  // namespace
}  // namespace rushlight::platform

using rushlight::platform::LogLevel;

extern "C" {

__attribute__((weak)) uint64_t rushlight_now_ns() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

__attribute__((weak)) void rushlight_log(int level, const char* message) {
  static const LogLevel least = rushlight::platform::threshold();
  if (level < static_cast<int>(least)) return;
  static const char* const names[] = {"debug", "info", "warning", "error"};
  std::fprintf(stderr, "rushlight %s: %s\n", names[level], message);
}

__attribute__((weak)) void* rushlight_allocate(size_t size, size_t alignment) {
  if (alignment < sizeof(void*)) alignment = sizeof(void*);
  void* memory = nullptr;
#if defined(MADV_HUGEPAGE)
  // Blocks of at least twice this size use pages of this size. A page is filled at its first access, and one large page
  // costs less than 512 small ones.
  constexpr size_t kLargePage = size_t{2} << 20;
  if (size >= 2 * kLargePage && alignment <= kLargePage && posix_memalign(&memory, kLargePage, size) == 0) {
    madvise(memory, size / kLargePage * kLargePage, MADV_HUGEPAGE);
    return memory;
  }
#endif
  return posix_memalign(&memory, alignment, size ? size : 1) == 0 ? memory : nullptr;
}

__attribute__((weak)) void rushlight_release(void* memory) { std::free(memory); }
}
