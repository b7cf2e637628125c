#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <thread>

#include "rushlight/platform/platform.h"
#include "rushlight/threads/thread_pool.h"
#include "threads/process_generation.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace rushlight {
namespace {

// A sleeping thread needs long to wake up, so this time is longer than the pause between two runs of a small network.
constexpr auto kSpinTime = std::chrono::microseconds(200);

thread_local bool is_inside_task = false;

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins until `done` is true or the time is over. Returns `done`.
template <typename Done>
bool spin(const Done& done) {
  const auto end = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < 64; ++i) {
      if (done()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace

// The threads of the pool, without the caller's thread. run() opens a job, and a thread joins the job if it wakes up
// while the job is open. The caller of run() closes the job when no index is left. It then waits only for the threads
// that joined.
class HostThreadPool::Workers {
 public:
  // Starts `wanted` threads, or fewer if the system cannot start so many.
  explicit Workers(size_t wanted) : generation_(process_generation()), threads_(new void*[wanted]), wanted_(wanted) {
    const auto run = [](void* self) { static_cast<Workers*>(self)->work(); };
    while (started_ < wanted) {
      void* const thread = platform::start_thread(run, this);
      if (thread == nullptr) break;
      threads_[started_++] = thread;
    }
  }

  ~Workers() {
    stop_.store(true);
    wake_threads();
    for (size_t i = 0; i < started_; ++i) platform::join_thread(threads_[i]);
  }

  uint64_t generation() const { return generation_; }
  size_t wanted() const { return wanted_; }

  void run(size_t count, void (*task)(void*, size_t), void* context) {
    task_ = task;
    context_ = context;
    total_ = count;
    next_.store(0, std::memory_order_relaxed);
    is_open_.store(true);
    wake_threads();
    run_tasks();
    is_open_.store(false);
    const auto is_done = [this] { return active_.load() == 0; };
    while (!spin(is_done)) std::this_thread::yield();
  }

 private:
  void wake_threads() {
    epoch_.fetch_add(1);
    if (sleepers_.load() == 0) return;
    std::lock_guard<std::mutex> lock(mutex_);
    wake_.notify_all();
  }

  void run_tasks() {
    is_inside_task = true;
    for (size_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < total_;) task_(context_, i);
    is_inside_task = false;
  }

  void work() {
    uint64_t seen = 0;
    while (true) {
      const auto has_changed = [&] { return epoch_.load() != seen; };
      if (!spin(has_changed)) {
        std::unique_lock<std::mutex> lock(mutex_);
        sleepers_.fetch_add(1);
        wake_.wait(lock, has_changed);
        sleepers_.fetch_sub(1);
      }
      seen = epoch_.load();
      if (stop_.load()) return;
      active_.fetch_add(1);
      if (is_open_.load()) run_tasks();
      active_.fetch_sub(1);
    }
  }

  const uint64_t generation_;
  std::unique_ptr<void*[]> threads_;
  const size_t wanted_;
  size_t started_ = 0;

  void (*task_)(void*, size_t) = nullptr;
  void* context_ = nullptr;
  size_t total_ = 0;
  alignas(64) std::atomic<size_t> next_{0};
  alignas(64) std::atomic<uint64_t> epoch_{0};
  alignas(64) std::atomic<size_t> active_{0};
  std::atomic<bool> is_open_{false};
  std::atomic<bool> stop_{false};
  std::atomic<size_t> sleepers_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
};

HostThreadPool::HostThreadPool(size_t threads) : threads_(threads > 0 ? threads : 1) { process_generation(); }

HostThreadPool::~HostThreadPool() { drop_workers(); }

// Threads from before a fork do not exist in the child process, and neither do the objects that are needed to join
// them. The child process does not destroy these objects.
void HostThreadPool::drop_workers() {
  if (workers_ && workers_->generation() == process_generation()) delete workers_;
  workers_ = nullptr;
}

bool HostThreadPool::acquire() {
  const uint64_t self = process_generation();
  uint64_t owner = owner_.load(std::memory_order_relaxed);
  return owner != self && owner_.compare_exchange_strong(owner, self, std::memory_order_acquire);
}

void HostThreadPool::run(size_t count, void (*task)(void* context, size_t index), void* context) {
  const size_t threads = thread_count();
  if (count <= 1 || threads <= 1 || is_inside_task || !acquire()) {
    for (size_t i = 0; i < count; ++i) task(context, i);
    return;
  }
  if (!workers_ || workers_->generation() != process_generation() || workers_->wanted() != threads - 1) {
    drop_workers();
    workers_ = new Workers(threads - 1);
  }
  workers_->run(count, task, context);
  release();
}

void HostThreadPool::set_thread_count(size_t threads) {
  threads_.store(threads > 0 ? threads : 1, std::memory_order_relaxed);
}

HostThreadPool& default_thread_pool() {
  static HostThreadPool* const pool = new HostThreadPool(default_thread_count());
  return *pool;
}

}  // namespace rushlight
