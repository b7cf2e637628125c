// Loads and runs arbitrary bytes as a .pte file. The environment variable FUZZ_DATA names a .ptd file with its tensors.

#include <cstdlib>
#include <memory>

#include "target.h"
#include "tests/support/run_hostile.h"

namespace {

std::shared_ptr<rushlight::LoadedData> outside_data() {
  const char* const path = std::getenv("FUZZ_DATA");
  if (path == nullptr) return nullptr;
  auto loaded = rushlight::LoadedData::from_files({&path, 1});
  if (!loaded.ok()) std::abort();
  return *loaded;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto outside = outside_data();
  (void)rushlight::testing::run_hostile(data, size, outside);
  return 0;
}

FUZZ_FORMAT(Program)
