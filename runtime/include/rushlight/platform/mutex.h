#pragma once

#if defined(__wasm__)
#include <atomic>
#elif !defined(RUSHLIGHT_SINGLE_THREAD)
#include <mutex>
#endif

// A mutex and its lock. They do nothing on systems without threads.
namespace rushlight::platform {

#if defined(RUSHLIGHT_SINGLE_THREAD)

class Mutex {};
struct Lock {
  explicit Lock(Mutex&) {}
};

#elif defined(__wasm__)

// This lock spins: the main thread of a browser must not sleep.
class Mutex {
 public:
  void lock() {
    while (is_locked_.exchange(true, std::memory_order_acquire)) {
    }
  }
  void unlock() { is_locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> is_locked_{false};
};

class Lock {
 public:
  explicit Lock(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  ~Lock() { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Mutex& mutex_;
};

#else

using Mutex = std::mutex;
using Lock = std::lock_guard<std::mutex>;

#endif

}  // namespace rushlight::platform
