#include "rushlight/threads/thread_pool.h"

namespace rushlight {

// On systems without threads, a pool runs all tasks on the calling thread.
HostThreadPool::HostThreadPool(size_t) : threads_(1) {}

HostThreadPool::~HostThreadPool() = default;

void HostThreadPool::run(size_t count, void (*task)(void* context, size_t index), void* context) {
  for (size_t i = 0; i < count; ++i) task(context, i);
}

void HostThreadPool::set_thread_count(size_t) {}

size_t default_thread_count() { return 1; }

HostThreadPool& default_thread_pool() {
  static HostThreadPool* const pool = new HostThreadPool(1);
  return *pool;
}

}  // namespace rushlight
