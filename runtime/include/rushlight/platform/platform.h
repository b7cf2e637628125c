#pragma once

#include <cstddef>
#include <cstdint>

namespace rushlight::platform {

enum class LogLevel : uint8_t { Debug, Info, Warning, Error };

// What the runtime asks of the system. A port replaces any of these with set_hooks(); null keeps the default.
struct Hooks {
  uint64_t (*now_ns)() = nullptr;  // monotonic
  void (*log)(LogLevel level, const char* message) = nullptr;
  void* (*allocate)(size_t size, size_t alignment) = nullptr;  // used by loaders and Module, never by the core
  void (*release)(void* memory) = nullptr;
};

void set_hooks(const Hooks& hooks);

uint64_t now_ns();
void log(LogLevel level, const char* format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;
void* allocate(size_t size, size_t alignment);
void release(void* memory);

}  // namespace rushlight::platform
