#pragma once

#include <cstddef>

#include "rushlight/core/thread_pool.h"

namespace rushlight {

// Threads of the host. Waiting threads spin for some microseconds, then sleep. A pool that is busy with another
// caller's tasks makes run() serial. After fork() the child gets threads of its own when it first runs tasks.
class HostThreadPool final : public ThreadPool {
 public:
  // `threads` counts the caller of run(); 1 starts no thread.
  explicit HostThreadPool(size_t threads);
  ~HostThreadPool();
  HostThreadPool(const HostThreadPool&) = delete;
  HostThreadPool& operator=(const HostThreadPool&) = delete;

  size_t thread_count() const override;
  void run(size_t count, void (*task)(void* context, size_t index), void* context) override;
  // Waits for running tasks.
  void set_thread_count(size_t threads);

 private:
  struct State;
  State* state_;
};

// RUSHLIGHT_NUM_THREADS if it is a positive number, else the number of CPUs that this process may use.
size_t default_thread_count();

// One pool for the process, of default_thread_count() threads until set_thread_count(). Never destroyed.
HostThreadPool& default_thread_pool();

}  // namespace rushlight
