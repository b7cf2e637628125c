// The entry points of a fuzz target that all targets have: FUZZ_FORMAT(Program) at the end of its source.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "mutate.h"

namespace rushlight::fuzz {

// Changes `data`, of `size` bytes in `max_size`, and returns the new size. A file that would be longer stays as it is.
inline size_t mutate(Format format, uint8_t* data, size_t size, size_t max_size, uint64_t seed) {
  Bytes file(data, data + size);
  Random random(seed);
  mutate_file(format, file, random);
  if (file.size() > max_size) return size;
  std::copy(file.begin(), file.end(), data);
  return file.size();
}

}  // namespace rushlight::fuzz

#define FUZZ_FORMAT(format)                                                                               \
  extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) { \
    return rushlight::fuzz::mutate(rushlight::fuzz::Format::format, data, size, max_size, seed);          \
  }
