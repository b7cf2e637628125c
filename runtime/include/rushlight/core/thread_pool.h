#pragma once

#include <cstddef>
#include <cstdint>

namespace rushlight {

// Runs tasks in parallel. An implementation is handed in by the embedder; without one everything is serial.
class ThreadPool {
 public:
  virtual size_t thread_count() const = 0;
  // Calls task(context, i) for every i below `count`, on any thread, and returns when all have returned.
  // Calls from within a task run serially.
  virtual void run(size_t count, void (*task)(void* context, size_t index), void* context) = 0;

 protected:
  ~ThreadPool() = default;
};

}  // namespace rushlight
