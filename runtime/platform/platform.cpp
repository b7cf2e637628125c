#include "rushlight/platform/platform.h"

#include <cstdarg>
#include <cstdio>

#if !defined(RUSHLIGHT_FREESTANDING)
#include <chrono>
#include <cstdlib>
#if defined(__linux__)
#include <sys/mman.h>
#endif
#endif

namespace rushlight::platform {
namespace {

#if defined(RUSHLIGHT_FREESTANDING)

constexpr Hooks kDefaults{[]() -> uint64_t { return 0; }, [](LogLevel, const char*) {},
                          [](size_t, size_t) -> void* { return nullptr; }, [](void*) {}};

#else

uint64_t steady_now_ns() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

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

void log_to_stderr(LogLevel level, const char* message) {
  static const LogLevel least = threshold();
  if (level < least) return;
  static const char* const names[] = {"debug", "info", "warning", "error"};
  std::fprintf(stderr, "rushlight %s: %s\n", names[static_cast<int>(level)], message);
}

void* allocate_aligned(size_t size, size_t alignment) {
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

void release_aligned(void* memory) { std::free(memory); }

constexpr Hooks kDefaults{steady_now_ns, log_to_stderr, allocate_aligned, release_aligned};

#endif

Hooks hooks = kDefaults;

}  // namespace

void set_hooks(const Hooks& replacement) {
  hooks.now_ns = replacement.now_ns ? replacement.now_ns : kDefaults.now_ns;
  hooks.log = replacement.log ? replacement.log : kDefaults.log;
  hooks.allocate = replacement.allocate ? replacement.allocate : kDefaults.allocate;
  hooks.release = replacement.release ? replacement.release : kDefaults.release;
}

uint64_t now_ns() { return hooks.now_ns(); }

void log(LogLevel level, const char* format, ...) {
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  if (std::vsnprintf(message, sizeof(message), format, arguments) < 0) message[0] = '\0';
  va_end(arguments);
  hooks.log(level, message);
}

void* allocate(size_t size, size_t alignment) { return hooks.allocate(size, alignment); }

void release(void* memory) { hooks.release(memory); }

}  // namespace rushlight::platform
