#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "rushlight/core/thread_pool.h"

namespace rushlight {

// A pool of the system's threads, which start at their first use. An idle thread waits actively for some microseconds
// and then sleeps. If the pool is busy with the tasks of another caller, run() runs all tasks on the calling thread. A
// child process of fork() starts its own threads. All functions may be called from any thread.
class HostThreadPool final : public ThreadPool {
 public:
  // `threads` includes the caller of run(); with 1 no thread is started.
  explicit HostThreadPool(size_t threads);
  ~HostThreadPool();
  HostThreadPool(const HostThreadPool&) = delete;
  HostThreadPool& operator=(const HostThreadPool&) = delete;

  size_t thread_count() const override { return threads_.load(std::memory_order_relaxed); }
  void run(size_t count, void (*task)(void* context, size_t index), void* context) override;
  // Sets the number of threads for the next run().
  void set_thread_count(size_t threads);

 private:
  class Workers;
  bool acquire();
  void release() { owner_.store(0, std::memory_order_release); }
  void drop_workers();

  std::atomic<size_t> threads_;
  std::atomic<uint64_t> owner_{0};  // 0: free; else the process_generation() of the process that runs tasks
  Workers* workers_ = nullptr;      // used only by the owner
};

// Returns RUSHLIGHT_NUM_THREADS if it is a positive number, else the number of physical cores that the CPU affinity and
// the control group's CPU quota of this process allow.
size_t default_thread_count();

// Returns the pool of the process. It has default_thread_count() threads until set_thread_count() is called. It is
// never destroyed.
HostThreadPool& default_thread_pool();

}  // namespace rushlight
