#include <algorithm>

#include "executorch/extension/threadpool/cpuinfo_utils.h"
#include "executorch/extension/threadpool/threadpool.h"
#include "executorch/runtime/kernel/thread_parallel_interface.h"
#include "executorch/runtime/platform/log.h"
#include "rushlight/threads/thread_pool.h"

namespace executorch {
namespace extension {
namespace {

#if defined(RUSHLIGHT_SINGLE_THREAD)
bool is_guarded = false;
int64_t number_of_thread = 0;
#else
thread_local bool is_guarded = false;
thread_local int64_t number_of_thread = 0;
#endif

// The pool of the process, unless the calling thread has a NoThreadPoolGuard.
class GuardedPool final : public ::rushlight::ThreadPool {
 public:
  size_t thread_count() const override { return ::rushlight::default_thread_pool().thread_count(); }
  void run(size_t count, void (*task)(void* context, size_t index), void* context) override {
    if (!is_guarded) {
      ::rushlight::default_thread_pool().run(count, task, context);
      return;
    }
    for (size_t i = 0; i < count; ++i) task(context, i);
  }
};

}  // namespace

namespace threadpool {

bool NoThreadPoolGuard::is_enabled() { return is_guarded; }
void NoThreadPoolGuard::set_enabled(bool enabled) { is_guarded = enabled; }

size_t ThreadPool::get_thread_count() const { return ::rushlight::default_thread_pool().thread_count(); }

bool ThreadPool::_unsafe_reset_threadpool(uint32_t new_thread_count) {
  if (new_thread_count == 0) return false;
  ::rushlight::default_thread_pool().set_thread_count(new_thread_count);
  return true;
}

void ThreadPool::run(runtime::FunctionRef<void(size_t)> fn, size_t range) {
  native_threadpool()->run(
      range,
      [](void* context, size_t index) { (*static_cast<const runtime::FunctionRef<void(size_t)>*>(context))(index); },
      &fn);
}

ThreadPool* get_threadpool() {
  static ThreadPool pool;
  return &pool;
}

::rushlight::ThreadPool* native_threadpool() {
  static GuardedPool pool;
  return &pool;
}

}  // namespace threadpool

namespace cpuinfo {

uint32_t get_num_performant_cores() { return static_cast<uint32_t>(::rushlight::default_thread_count()); }

}  // namespace cpuinfo

bool parallel_for(int64_t begin, int64_t end, int64_t grain_size, runtime::FunctionRef<void(int64_t, int64_t)> f) {
  ET_CHECK_OR_LOG_ERROR(begin >= 0 && end >= begin && grain_size > 0, "the range or the grain size is invalid");
  if (begin < 0 || end < begin || grain_size <= 0) return false;
  if (begin == end) return true;
  const auto threads = static_cast<int64_t>(threadpool::get_threadpool()->get_thread_count());
  const int64_t step = std::max(grain_size, (end - begin + threads - 1) / threads);
  const int64_t count = (end - begin + step - 1) / step;
  const auto body = [&](size_t index) {
    const int64_t first = begin + static_cast<int64_t>(index) * step;
    const int64_t before = number_of_thread;
    number_of_thread = static_cast<int64_t>(index);
    f(first, std::min(first + step, end));
    number_of_thread = before;
  };
  threadpool::get_threadpool()->run(body, static_cast<size_t>(count));
  return true;
}

int64_t get_thread_num() { return number_of_thread; }
void set_thread_num(int64_t thread_num) { number_of_thread = thread_num; }
int64_t get_thread_count() { return static_cast<int64_t>(threadpool::get_threadpool()->get_thread_count()); }

}  // namespace extension
}  // namespace executorch
