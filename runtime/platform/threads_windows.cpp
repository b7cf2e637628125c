// Windows threads.
#include <process.h>
#include <windows.h>

#include <cstdint>
#include <new>

#include "platform/thread_start.h"
#include "rushlight/platform/platform.h"

using rushlight::platform::ThreadStart;

extern "C" {

__attribute__((weak)) void* rushlight_thread_start(void (*run)(void* context), void* context) {
  auto* const start = new (std::nothrow) ThreadStart{run, context};
  if (start == nullptr) return nullptr;
  const auto begin = [](void* given) -> unsigned {
    const ThreadStart start = *static_cast<ThreadStart*>(given);
    delete static_cast<ThreadStart*>(given);
    start.run(start.context);
    return 0;
  };
  const uintptr_t thread = _beginthreadex(nullptr, 0, begin, start, 0, nullptr);
  if (thread == 0) delete start;
  return reinterpret_cast<void*>(thread);
}

__attribute__((weak)) void rushlight_thread_join(void* thread) {
  WaitForSingleObject(static_cast<HANDLE>(thread), INFINITE);
  CloseHandle(static_cast<HANDLE>(thread));
}
}
