#include "rushlight/platform/platform.h"

#include <cstdarg>

#include "platform/format.h"

namespace rushlight::platform {
namespace {

constexpr size_t kMessageSize = 512;

void log_by_default(LogLevel level, const char* message) { rushlight_log(static_cast<int>(level), message); }

constexpr Hooks kDefaults{rushlight_now_ns, log_by_default, rushlight_allocate, rushlight_release};

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
  char message[kMessageSize];
  va_list arguments;
  va_start(arguments, format);
  format_list(message, sizeof(message), format, arguments);
  va_end(arguments);
  hooks.log(level, message);
}

void* allocate(size_t size, size_t alignment) { return hooks.allocate(size, alignment); }

void release(void* memory) { hooks.release(memory); }

}  // namespace rushlight::platform
