#pragma once

#include <cstddef>

struct pthreadpool;

namespace rushlight::xnnpack {

// Returns XNNPACK's thread pool with `count` threads; the process has one pool per count. Returns null for one thread,
// without memory, or in a build without XNNPACK.
pthreadpool* shared_threads(size_t count);

}  // namespace rushlight::xnnpack
