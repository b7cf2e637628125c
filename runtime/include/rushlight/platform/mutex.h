#pragma once

#if !defined(RUSHLIGHT_SINGLE_THREAD)
#include <mutex>
#endif

// A mutex and its lock. They do nothing on systems without threads.
namespace rushlight::platform {

#if defined(RUSHLIGHT_SINGLE_THREAD)

class Mutex {};
struct Lock {
  explicit Lock(Mutex&) {}
};

#else

using Mutex = std::mutex;
using Lock = std::lock_guard<std::mutex>;

#endif

}  // namespace rushlight::platform
