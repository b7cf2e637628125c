#include "backends/xnnpack/threads.h"

#include <mutex>

namespace rushlight::xnnpack {
namespace {

constexpr size_t kMaxThreads = 256;

thread_local bool is_inside_task = false;

struct Task {
  void (*function)(void*, size_t);
  void* context;
};

}  // namespace

pthreadpool_t shared_threads(size_t count) {
  static std::mutex mutex;
  static pthreadpool_t pools[kMaxThreads + 1] = {};
  if (count > kMaxThreads) count = kMaxThreads;
  if (count <= 1) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex);
  if (pools[count] == nullptr) pools[count] = pthreadpool_create(count);
  return pools[count];
}

void SharedThreads::run(size_t count, void (*task)(void* context, size_t index), void* context) {
  if (is_inside_task || threads_ == nullptr || count < 2) {
    for (size_t i = 0; i < count; ++i) task(context, i);
    return;
  }
  Task shared{task, context};
  pthreadpool_parallelize_1d(
      threads_,
      [](void* argument, size_t index) {
        const Task& work = *static_cast<const Task*>(argument);
        is_inside_task = true;
        work.function(work.context, index);
        is_inside_task = false;
      },
      &shared, count, 0);
}

}  // namespace rushlight::xnnpack
