#pragma once

namespace rushlight::platform {

// What a thread of the system calls; it is deleted by the thread.
struct ThreadStart {
  void (*run)(void* context);
  void* context;
};

}  // namespace rushlight::platform
