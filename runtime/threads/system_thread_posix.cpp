#include <pthread.h>

#include <atomic>

#include "threads/system_thread.h"

namespace rushlight {
namespace {

std::atomic<uint64_t> generation{1};

}  // namespace

uint64_t process_generation() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
  return generation.load(std::memory_order_relaxed);
}

bool SystemThread::start(void (*run)(void* context), void* context) {
  static_assert(sizeof(pthread_t) <= sizeof(handle_));
  run_ = run;
  context_ = context;
  const auto begin = [](void* self) -> void* {
    auto* const thread = static_cast<SystemThread*>(self);
    thread->run_(thread->context_);
    return nullptr;
  };
  pthread_t thread;
  if (pthread_create(&thread, nullptr, begin, this) != 0) return false;
  handle_ = (uintptr_t)thread;  // an integer or a pointer
  return true;
}

void SystemThread::join() { pthread_join((pthread_t)handle_, nullptr); }

}  // namespace rushlight
