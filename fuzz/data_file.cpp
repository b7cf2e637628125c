// Reads arbitrary bytes as a .ptd file. The environment variable FUZZ_PROGRAM names a program that is run with it.

#include "rushlight/program/data_file.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include "rushlight/program/buffer_loader.h"
#include "target.h"
#include "tests/support/run_hostile.h"

namespace {

// Copies every tensor.
void read_all(const void* data, size_t size) {
  rushlight::BufferDataLoader loader(data, size);
  const auto file = rushlight::DataFile::load(&loader);
  if (!file.ok()) return;
  for (uint32_t i = 0; i < file->size(); ++i) {
    const auto layout = file->tensor_layout(file->key(i));
    const auto bytes = file->data(file->key(i));
    if (!layout.ok() || !bytes.ok()) continue;
    std::vector<uint8_t> copy(layout->nbytes);
    (void)file->load_into(file->key(i), copy.data(), copy.size());
  }
}

std::vector<uint8_t> program() {
  const char* const path = std::getenv("FUZZ_PROGRAM");
  if (path == nullptr) return {};
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<uint8_t> user = program();
  struct alignas(16) Word {
    uint8_t bytes[16];
  };
  std::vector<Word> words(size / sizeof(Word) + 1);  // aligned
  if (size > 0) std::memcpy(words.data(), data, size);
  read_all(words.data(), size);
  if (user.empty()) return 0;
  const auto outside = rushlight::LoadedData::from_buffer(words.data(), size);
  if (outside.ok()) (void)rushlight::testing::run_hostile(user.data(), user.size(), *outside);
  return 0;
}

FUZZ_FORMAT(DataFile)
