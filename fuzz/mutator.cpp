// The mutator as a C function, for drivers in other languages.

#include "target.h"

// Mutates a file of `size` bytes at `data`; the buffer has `max_size` bytes. `format` is a number of the enum Format.
// Returns the new size. Equal seeds give equal mutations.
extern "C" __attribute__((visibility("default"))) size_t rushlight_mutate(int format, uint8_t* data, size_t size,
                                                                          size_t max_size, uint64_t seed) {
  return rushlight::fuzz::mutate(static_cast<rushlight::fuzz::Format>(format), data, size, max_size, seed);
}
