#include "backends/xnnpack/threads.h"

#include <pthreadpool.h>

#include <mutex>

namespace rushlight::xnnpack {
namespace {

constexpr size_t kMaxThreads = 256;

}  // namespace

pthreadpool* shared_threads(size_t count) {
  static std::mutex mutex;
  static pthreadpool_t pools[kMaxThreads + 1] = {};
  if (count > kMaxThreads) count = kMaxThreads;
  if (count <= 1) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex);
  if (pools[count] == nullptr) pools[count] = pthreadpool_create(count);
  return pools[count];
}

}  // namespace rushlight::xnnpack
