// The mutator as a function of C, for drivers in other languages.

#include "target.h"

// Changes the `size` bytes at `data`, a file of format number `format` in the order of Format, which have room for
// `max_size`. Returns the new size. Equal seeds make equal changes.
extern "C" __attribute__((visibility("default"))) size_t rushlight_mutate(int format, uint8_t* data, size_t size,
                                                                          size_t max_size, uint64_t seed) {
  return rushlight::fuzz::mutate(static_cast<rushlight::fuzz::Format>(format), data, size, max_size, seed);
}
