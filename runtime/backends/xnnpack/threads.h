#pragma once

#include <pthreadpool.h>

#include <cstddef>

namespace rushlight::xnnpack {

// XNNPACK's threads, of which there is one set per number in the process; null for one thread, or if there is no
// memory.
pthreadpool_t shared_threads(size_t count);

}  // namespace rushlight::xnnpack
