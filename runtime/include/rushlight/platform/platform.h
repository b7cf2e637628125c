#pragma once

#include <cstddef>
#include <cstdint>

// The functions of the operating system that the runtime uses. The runtime defines them as weak symbols. A port
// replaces them at link time, by defining functions with these names, or at run time, with set_hooks(). All of them may
// be called from several threads at the same time. The defaults for systems without an operating system do nothing.
//
// RUSHLIGHT_LOG_LEVEL is the lowest level that RL_LOG() writes, as a number of platform::LogLevel: 0 for all messages,
// 4 for none. The binary does not contain the texts of messages below this level.
#if !defined(RUSHLIGHT_LOG_LEVEL)
#define RUSHLIGHT_LOG_LEVEL 0
#endif

extern "C" {
// Returns the time of a monotonic clock, in nanoseconds.
uint64_t rushlight_now_ns();
// Logs a message. `level` is a number of platform::LogLevel.
void rushlight_log(int level, const char* message);
// Ends the program, because it has an error that no caller can handle, such as the use of a value that does not exist.
// The default logs the message and calls abort(); without an operating system it executes an instruction that traps.
[[noreturn]] void rushlight_panic(const char* message);
// Returns `size` bytes at a multiple of `alignment` (a power of two), or null. Data loaders and Module call this
// function; the core does not.
void* rushlight_allocate(size_t size, size_t alignment);
void rushlight_release(void* memory);
// Starts a thread that calls run(context). Returns the argument of rushlight_thread_join(), or null if no thread can be
// started. HostThreadPool calls it.
void* rushlight_thread_start(void (*run)(void* context), void* context);
// Waits for the end of a thread. The runtime calls it once for each thread.
void rushlight_thread_join(void* thread);
}

namespace rushlight::platform {

// The importance of a log message.
enum class LogLevel : uint8_t { Debug, Info, Warning, Error };

// Whether the build contains the log messages of a level.
constexpr bool is_built(LogLevel level) {
  constexpr int kLeast = RUSHLIGHT_LOG_LEVEL;
  return static_cast<int>(level) >= kLeast;
}

// Functions that replace the system's functions at run time; null keeps the default.
struct Hooks {
  uint64_t (*now_ns)() = nullptr;  // a monotonic clock, in nanoseconds
  void (*log)(LogLevel level, const char* message) = nullptr;
  void* (*allocate)(size_t size, size_t alignment) = nullptr;  // used by data loaders and Module, never by the core
  void (*release)(void* memory) = nullptr;
  void (*panic)(const char* message) = nullptr;  // ends the program; if it returns, the default function is called
  void* (*thread_start)(void (*run)(void* context), void* context) = nullptr;
  void (*thread_join)(void* thread) = nullptr;
};

// Replaces functions of the system. Call it before any other function of the runtime.
void set_hooks(const Hooks& hooks);

// Returns the time in nanoseconds.
uint64_t now_ns();
// Logs a message in printf format. RL_LOG() calls this function only for messages of level RUSHLIGHT_LOG_LEVEL and
// above.
void log(LogLevel level, const char* format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;
// Returns `size` bytes at a multiple of `alignment` (a power of two), or null. release() frees them.
void* allocate(size_t size, size_t alignment);
void release(void* memory);
// Ends the program with a message.
[[noreturn]] void panic(const char* message);
// start_thread() starts a thread, or returns null. join_thread() waits for the end of the thread.
void* start_thread(void (*run)(void* context), void* context);
void join_thread(void* thread);

}  // namespace rushlight::platform

// RL_LOG(Warning, "%d methods", count) logs a message in printf format, if the build has messages of this level.
#define RL_LOG(level, ...)                                                                   \
  do {                                                                                       \
    if constexpr (::rushlight::platform::is_built(::rushlight::platform::LogLevel::level)) { \
      ::rushlight::platform::log(::rushlight::platform::LogLevel::level, __VA_ARGS__);       \
    }                                                                                        \
  } while (0)
