#pragma once

#include <pthreadpool.h>

#include <cstddef>

#include "rushlight/core/thread_pool.h"

namespace rushlight::xnnpack {

// XNNPACK's threads, of which there is one set per number in the process; null for one thread, or if there is no
// memory.
pthreadpool_t shared_threads(size_t count);

// The same threads, for kernels.
class SharedThreads final : public ThreadPool {
 public:
  explicit SharedThreads(pthreadpool_t threads) : threads_(threads) {}
  size_t thread_count() const override { return pthreadpool_get_threads_count(threads_); }
  void run(size_t count, void (*task)(void* context, size_t index), void* context) override;

 private:
  pthreadpool_t threads_;
};

}  // namespace rushlight::xnnpack
