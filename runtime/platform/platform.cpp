#include "rushlight/platform/platform.h"

#include <cstdarg>

#include "platform/format.h"

namespace rushlight::platform {
namespace {

constexpr size_t kMessageSize = 512;

void log_by_default(LogLevel level, const char* message) { rushlight_log(static_cast<int>(level), message); }

// Each hook is a separate variable, so that a linker can remove the hooks that a program does not use.
auto* now_ns_hook = rushlight_now_ns;
auto* log_hook = log_by_default;
void (*panic_hook)(const char* message) = rushlight_panic;
auto* allocate_hook = rushlight_allocate;
auto* release_hook = rushlight_release;
auto* thread_start_hook = rushlight_thread_start;
auto* thread_join_hook = rushlight_thread_join;

template <typename Function>
Function* either(Function* replacement, Function* standard) {
  return replacement ? replacement : standard;
}

}  // namespace

void set_hooks(const Hooks& replacement) {
  now_ns_hook = either(replacement.now_ns, &rushlight_now_ns);
  log_hook = either(replacement.log, &log_by_default);
  panic_hook = either<void(const char*)>(replacement.panic, &rushlight_panic);
  allocate_hook = either(replacement.allocate, &rushlight_allocate);
  release_hook = either(replacement.release, &rushlight_release);
  thread_start_hook = either(replacement.thread_start, &rushlight_thread_start);
  thread_join_hook = either(replacement.thread_join, &rushlight_thread_join);
}

uint64_t now_ns() { return now_ns_hook(); }

void log(LogLevel level, const char* format, ...) {
  char message[kMessageSize];
  va_list arguments;
  va_start(arguments, format);
  format_list(message, sizeof(message), format, arguments);
  va_end(arguments);
  log_hook(level, message);
}

void* allocate(size_t size, size_t alignment) { return allocate_hook(size, alignment); }

void release(void* memory) { release_hook(memory); }

void panic(const char* message) {
  panic_hook(message);
  rushlight_panic(message);
}

void* start_thread(void (*run)(void* context), void* context) { return thread_start_hook(run, context); }

void join_thread(void* thread) { thread_join_hook(thread); }

}  // namespace rushlight::platform
