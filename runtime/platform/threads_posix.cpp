// POSIX threads.
#include <pthread.h>

#include <new>

#include "platform/thread_start.h"
#include "rushlight/platform/platform.h"

using rushlight::platform::ThreadStart;

extern "C" {

__attribute__((weak)) void* rushlight_thread_start(void (*run)(void* context), void* context) {
  static_assert(sizeof(pthread_t) <= sizeof(void*));
  auto* const start = new (std::nothrow) ThreadStart{run, context};
  const auto begin = [](void* given) -> void* {
    const ThreadStart start = *static_cast<ThreadStart*>(given);
    delete static_cast<ThreadStart*>(given);
    start.run(start.context);
    return nullptr;
  };
  pthread_t thread;
  if (start == nullptr || pthread_create(&thread, nullptr, begin, start) != 0) {
    delete start;
    return nullptr;
  }
  return (void*)thread;  // an integer or a pointer
}

__attribute__((weak)) void rushlight_thread_join(void* thread) { pthread_join((pthread_t)thread, nullptr); }
}
