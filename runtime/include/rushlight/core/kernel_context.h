#pragma once

#include <cstddef>
#include <cstdint>

#include "rushlight/core/error.h"
#include "rushlight/core/event_tracer.h"
#include "rushlight/core/memory.h"
#include "rushlight/core/thread_pool.h"

namespace rushlight {

// What a kernel may use besides its arguments: scratch memory, threads, and a way to report an error. The instruction
// loop owns it. Except in parallel_for(), only the thread that calls the kernel uses it.
class KernelRuntimeContext {
 public:
  // The pointers may be null and are not owned.
  KernelRuntimeContext(MemoryAllocator* temporary, ThreadPool* threads, EventTracer* tracer = nullptr)
      : temporary_(temporary), threads_(threads), tracer_(tracer) {}

  // Records an error with a message (printf format). The method stops after the kernel returns.
#if defined(RUSHLIGHT_NO_MESSAGES)
  template <typename... Arguments>
  void fail(Error code, const char*, const Arguments&...) {
    failure_ = code;
  }
#else
#if defined(__GNUC__)
  __attribute__((format(printf, 3, 4)))
#endif
  void fail(Error code, const char* format, ...);
#endif
  void fail(Error code) { failure_ = code; }
  Error failure() const { return failure_; }
  bool failed() const { return failure_ != Error::Ok; }
  void clear() { failure_ = Error::Ok; }

  // Returns `size` bytes of scratch memory, valid until the kernel returns. If there is no memory, records an error and
  // returns null.
  void* allocate_temporary(size_t size, size_t alignment = 64);
  // Does the same for `count` elements, which are not initialized.
  template <typename T>
  T* allocate_temporary_array(size_t count) {
    if (count > SIZE_MAX / sizeof(T)) {
      fail(Error::MemoryAllocationFailed, "the size in bytes of a scratch array of %zu elements overflows", count);
      return nullptr;
    }
    return static_cast<T*>(allocate_temporary(count * sizeof(T), alignof(T) > 64 ? alignof(T) : 64));
  }

  // Returns the number of threads of parallel_for().
  size_t thread_count() const { return threads_ ? threads_->thread_count() : 1; }

  // Calls body(first, last) for disjoint ranges that cover [begin, end), on several threads, and returns when all calls
  // have returned. The length of each range except the last is a multiple of `grain`. A range of at most `grain` runs
  // on this thread.
  template <typename Body>
  void parallel_for(int64_t begin, int64_t end, int64_t grain, const Body& body) {
    const int64_t count = end - begin;
    if (count <= 0) return;
#if defined(RUSHLIGHT_SINGLE_THREAD)
    static_cast<void>(grain);
    body(begin, end);
#else
    if (thread_count() == 1 || count <= grain) {
      body(begin, end);
      return;
    }
    const auto call = [](const void* function, int64_t first, int64_t last) {
      (*static_cast<const Body*>(function))(first, last);
    };
    run_ranges(begin, end, grain, call, &body);
#endif
  }

  ThreadPool* threads() const { return threads_; }
  EventTracer* tracer() const { return tracer_; }

 private:
  // Calls call(function, first, last) for the ranges of parallel_for(), on several threads.
  void run_ranges(int64_t begin, int64_t end, int64_t grain,
                  void (*call)(const void* function, int64_t first, int64_t last), const void* function);

  MemoryAllocator* temporary_;
  ThreadPool* threads_;
  EventTracer* tracer_;
  Error failure_ = Error::Ok;
};

}  // namespace rushlight

// In a kernel: records an error and returns unless `condition` holds.
#define RL_KERNEL_REQUIRE(context, condition, code, ...)     \
  do {                                                       \
    if (!(condition)) {                                      \
      (context).fail(::rushlight::Error::code, __VA_ARGS__); \
      return;                                                \
    }                                                        \
  } while (0)
