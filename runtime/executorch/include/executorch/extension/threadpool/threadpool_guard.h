#pragma once

namespace executorch {
namespace extension {
namespace threadpool {

// Until the end of its scope, parallel work of this thread runs only on this thread.
struct NoThreadPoolGuard {
  static bool is_enabled();
  static void set_enabled(bool enabled);
  NoThreadPoolGuard() : previous_(is_enabled()) { set_enabled(true); }
  ~NoThreadPoolGuard() { set_enabled(previous_); }
  NoThreadPoolGuard(const NoThreadPoolGuard&) = delete;
  NoThreadPoolGuard& operator=(const NoThreadPoolGuard&) = delete;

 private:
  const bool previous_;
};

}  // namespace threadpool
}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executorch {
namespace threadpool {
using ::executorch::extension::threadpool::NoThreadPoolGuard;
}  // namespace threadpool
}  // namespace executorch
}  // namespace torch
