// The common entry points of all fuzz targets. Each source ends with a line such as FUZZ_FORMAT(Program).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "mutate.h"

namespace rushlight::fuzz {

// Mutates `data`, which has `size` bytes and room for `max_size`. Returns the new size. A longer result is discarded.
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
