#pragma once

#include <cstddef>
#include <cstdint>

// The functions of the system that the runtime uses. The runtime defines them weakly: a port replaces them when it is
// linked, by defining functions of these names, or while it runs, with set_hooks(). All of them may be called from
// several threads at the same time. Systems without an operating system have defaults that do nothing.
extern "C" {
// Returns a clock in nanoseconds that never goes back.
uint64_t rushlight_now_ns();
// Logs a message. `level` is a number of platform::LogLevel.
void rushlight_log(int level, const char* message);
// Returns `size` bytes at a multiple of `alignment` (a power of two), or null. Loaders and Module use it; the core does
// not.
void* rushlight_allocate(size_t size, size_t alignment);
void rushlight_release(void* memory);
}

namespace rushlight::platform {

// The importance of a log message.
enum class LogLevel : uint8_t { Debug, Info, Warning, Error };

// Functions that replace those of the system while the runtime runs; null keeps the default.
struct Hooks {
  uint64_t (*now_ns)() = nullptr;  // a clock in nanoseconds that never goes back
  void (*log)(LogLevel level, const char* message) = nullptr;
  void* (*allocate)(size_t size, size_t alignment) = nullptr;  // used by loaders and Module, never by the core
  void (*release)(void* memory) = nullptr;
};

// Replaces functions of the system. Call it before any other function of the runtime.
void set_hooks(const Hooks& hooks);

// Returns the time in nanoseconds.
uint64_t now_ns();
// Logs a message in printf format.
void log(LogLevel level, const char* format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;
// Returns `size` bytes at a multiple of `alignment` (a power of two), or null. release() frees them.
void* allocate(size_t size, size_t alignment);
void release(void* memory);

}  // namespace rushlight::platform
