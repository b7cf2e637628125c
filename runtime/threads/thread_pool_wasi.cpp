#include <atomic>

#include "rushlight/platform/platform.h"
#include "rushlight/threads/thread_pool.h"
#include "threads/wanted_threads.h"

namespace rushlight {
namespace {

// A sleeping thread needs long to wake up, so this time is longer than the pause between two runs of a small network.
constexpr uint64_t kSpinNs = 200'000;

thread_local bool is_inside_task = false;

// The worker threads of the WebAssembly module. The host starts and ends them; each worker calls
// rushlight_worker_run(). Only one pool uses the workers at a time. run() opens a job. A worker joins the job if the
// job is open and has fewer threads than its pool. The caller of run() closes the job when no index is left. It then
// spins until the joined workers finish, because the main thread of a browser must not sleep.
class Workers {
 public:
  size_t count() const { return count_.load(std::memory_order_relaxed); }

  bool acquire() { return !is_busy_.exchange(true, std::memory_order_acquire); }
  void release() { is_busy_.store(false, std::memory_order_release); }

  // Runs the tasks of a job. Call this function between acquire() and release().
  void run(size_t threads, size_t count, void (*task)(void*, size_t), void* context) {
    task_ = task;
    context_ = context;
    total_ = count;
    next_.store(0, std::memory_order_relaxed);
    places_.store(static_cast<int32_t>(threads) - 1, std::memory_order_relaxed);
    is_open_.store(true);
    epoch_.fetch_add(1);
#if defined(__wasm_atomics__)
    if (sleepers_.load() > 0) __builtin_wasm_memory_atomic_notify(epoch_address(), UINT32_MAX);
#endif
    run_tasks();
    is_open_.store(false);
    while (active_.load() != 0) {
    }
  }

  [[noreturn]] void work() {
    int32_t seen = epoch_.load();
    count_.fetch_add(1);
    while (true) {
      wait_for_job(seen);
      seen = epoch_.load();
      active_.fetch_add(1);
      if (is_open_.load() && places_.fetch_sub(1) > 0) run_tasks();
      active_.fetch_sub(1);
    }
  }

 private:
  int* epoch_address() { return reinterpret_cast<int*>(&epoch_); }

  void wait_for_job(int32_t seen) {
    const uint64_t end = platform::now_ns() + kSpinNs;
    do {
      for (int i = 0; i < 256; ++i) {
        if (epoch_.load() != seen) return;
      }
    } while (platform::now_ns() < end);
#if defined(__wasm_atomics__)
    sleepers_.fetch_add(1);
    while (epoch_.load() == seen) __builtin_wasm_memory_atomic_wait32(epoch_address(), seen, -1);
    sleepers_.fetch_sub(1);
#endif
  }

  void run_tasks() {
    is_inside_task = true;
    for (size_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < total_;) task_(context_, i);
    is_inside_task = false;
  }

  void (*task_)(void*, size_t) = nullptr;
  void* context_ = nullptr;
  size_t total_ = 0;
  std::atomic<size_t> count_{0};
  std::atomic<bool> is_busy_{false};
  std::atomic<bool> is_open_{false};
  std::atomic<int32_t> places_{0};
  std::atomic<int32_t> sleepers_{0};
  alignas(64) std::atomic<size_t> next_{0};
  alignas(64) std::atomic<int32_t> epoch_{0};
  alignas(64) std::atomic<size_t> active_{0};
};

static_assert(sizeof(std::atomic<int32_t>) == sizeof(int32_t));

Workers workers;

}  // namespace

class HostThreadPool::Workers {};

HostThreadPool::HostThreadPool(size_t threads) : threads_(threads > 0 ? threads : 1) {}

HostThreadPool::~HostThreadPool() = default;

void HostThreadPool::run(size_t count, void (*task)(void* context, size_t index), void* context) {
  const size_t present = workers.count() + 1;
  const size_t threads = thread_count() < present ? thread_count() : present;
  if (count <= 1 || threads <= 1 || is_inside_task || !workers.acquire()) {
    for (size_t i = 0; i < count; ++i) task(context, i);
    return;
  }
  workers.run(threads, count, task, context);
  workers.release();
}

void HostThreadPool::set_thread_count(size_t threads) {
  threads_.store(threads > 0 ? threads : 1, std::memory_order_relaxed);
}

size_t default_thread_count() {
  if (const size_t wanted = wanted_threads()) return wanted;
  return workers.count() + 1;
}

HostThreadPool& default_thread_pool() {
  static HostThreadPool* const pool = new HostThreadPool(default_thread_count());
  return *pool;
}

}  // namespace rushlight

// The host calls this function on each thread that it starts for the module. The function never returns.
extern "C" void rushlight_worker_run() { rushlight::workers.work(); }
