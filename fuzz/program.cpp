// Loads and runs arbitrary bytes as a .pte file.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/run_hostile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)rushlight::testing::run_hostile(data, size);
  return 0;
}
