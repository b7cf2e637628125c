#include <pthread.h>

#include <atomic>

#include "threads/process_generation.h"

namespace rushlight {
namespace {

std::atomic<uint64_t> generation{1};

}  // namespace

uint64_t process_generation() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
  return generation.load(std::memory_order_relaxed);
}

}  // namespace rushlight
