#pragma once

#include <cstddef>

struct pthreadpool;

namespace rushlight::xnnpack {

// Returns a thread pool of XNNPACK with `count` threads. The process has one pool for each count. Returns null if
// `count` is 1, if there is no memory, or in a build without XNNPACK.
pthreadpool* shared_threads(size_t count);

}  // namespace rushlight::xnnpack
