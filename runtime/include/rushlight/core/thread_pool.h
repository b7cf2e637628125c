#pragma once

#include <cstddef>
#include <cstdint>

namespace rushlight {

// Runs tasks in parallel. The application passes an implementation; without one, all work runs on the calling thread.
class ThreadPool {
 public:
  // Returns the number of threads, the caller of run() included.
  virtual size_t thread_count() const = 0;
  // Calls task(context, i) for every i below `count`, each on any thread, and returns when all calls have returned. If
  // a task calls run(), the inner tasks run on the thread of the outer task. Any thread may call run() at any time.
  virtual void run(size_t count, void (*task)(void* context, size_t index), void* context) = 0;

 protected:
  ~ThreadPool() = default;
};

}  // namespace rushlight
