#pragma once

#include <cstddef>
#include <cstdint>

#include "executorch/extension/threadpool/threadpool_guard.h"
#include "executorch/runtime/core/function_ref.h"
#include "rushlight/core/thread_pool.h"
#include "rushlight/threads/thread_pool.h"

namespace executorch {
namespace extension {
namespace threadpool {

// The pool of the process: rushlight::default_thread_pool(). It runs the work of all methods.
class ThreadPool final {
 public:
  // Returns the number of threads, the caller of run() included.
  size_t get_thread_count() const;
  // Sets the number of threads of the next run(). Returns false for 0.
  bool _unsafe_reset_threadpool(uint32_t new_thread_count);
  // Calls fn(i) for every i below `range`, on several threads, and returns when all calls have returned.
  void run(runtime::FunctionRef<void(size_t)> fn, size_t range);

 private:
  friend ThreadPool* get_threadpool();
  ThreadPool() = default;
};

ThreadPool* get_threadpool();

// Returns the runtime's pool for methods: the pool of the process, or the calling thread under a NoThreadPoolGuard.
::rushlight::ThreadPool* native_threadpool();

}  // namespace threadpool
}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executorch {
namespace threadpool {
using ::executorch::extension::threadpool::get_threadpool;
using ::executorch::extension::threadpool::ThreadPool;
}  // namespace threadpool
}  // namespace executorch
}  // namespace torch
