#pragma once

namespace rushlight::platform {

// The function and argument of a new thread. The thread deletes this object.
struct ThreadStart {
  void (*run)(void* context);
  void* context;
};

}  // namespace rushlight::platform
