#include <process.h>
#include <windows.h>

#include "threads/system_thread.h"

namespace rushlight {

uint64_t process_generation() { return 1; }

bool SystemThread::start(void (*run)(void* context), void* context) {
  run_ = run;
  context_ = context;
  const auto begin = [](void* self) -> unsigned {
    auto* const thread = static_cast<SystemThread*>(self);
    thread->run_(thread->context_);
    return 0;
  };
  handle_ = _beginthreadex(nullptr, 0, begin, this, 0, nullptr);
  return handle_ != 0;
}

void SystemThread::join() {
  WaitForSingleObject(reinterpret_cast<HANDLE>(handle_), INFINITE);
  CloseHandle(reinterpret_cast<HANDLE>(handle_));
}

}  // namespace rushlight
