#pragma once

#include <cstddef>
#include <cstdlib>

namespace rushlight {

// Returns the number of threads that the environment variable RUSHLIGHT_NUM_THREADS sets, or 0.
inline size_t wanted_threads() {
  constexpr size_t kMost = 1 << 20;
  const char* text = std::getenv("RUSHLIGHT_NUM_THREADS");
  size_t count = 0;
  for (; text && *text >= '0' && *text <= '9'; ++text) {
    count = count * 10 + static_cast<size_t>(*text - '0');
    if (count > kMost) count = kMost;
  }
  return count;
}

}  // namespace rushlight
