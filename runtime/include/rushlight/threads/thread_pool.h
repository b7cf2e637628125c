#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "rushlight/core/thread_pool.h"

namespace rushlight {

// Threads of the host, started when they are first needed. Idle ones spin for some microseconds, then sleep. A pool
// that is busy with another caller's tasks makes run() serial. A child of fork() starts threads of its own.
class HostThreadPool final : public ThreadPool {
 public:
  // `threads` counts the caller of run(); 1 starts no thread.
  explicit HostThreadPool(size_t threads);
  ~HostThreadPool();
  HostThreadPool(const HostThreadPool&) = delete;
  HostThreadPool& operator=(const HostThreadPool&) = delete;

  size_t thread_count() const override { return threads_.load(std::memory_order_relaxed); }
  void run(size_t count, void (*task)(void* context, size_t index), void* context) override;
  // Takes effect at the next run().
  void set_thread_count(size_t threads);

 private:
  class Workers;
  bool acquire();
  void release() { owner_.store(0, std::memory_order_release); }
  void drop_workers();

  std::atomic<size_t> threads_;
  std::atomic<uint64_t> owner_{0};  // 0: free; else that of the process generation which runs tasks
  Workers* workers_ = nullptr;      // only touched by the owner
};

// RUSHLIGHT_NUM_THREADS if it is a positive number, else the number of physical cores that this process may use, by its
// CPU affinity and its control group's quota.
size_t default_thread_count();

// One pool for the process, of default_thread_count() threads until set_thread_count(). Never destroyed.
HostThreadPool& default_thread_pool();

}  // namespace rushlight
