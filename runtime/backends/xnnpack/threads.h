#pragma once

#include <cstddef>

struct pthreadpool;

namespace rushlight::xnnpack {

// XNNPACK's threads, of which there is one set per number in the process; null for one thread, or if there is no
// memory, or no XNNPACK in the build.
pthreadpool* shared_threads(size_t count);

}  // namespace rushlight::xnnpack
