// Reads arbitrary bytes as a .ptd file.

#include "rushlight/program/data_file.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "rushlight/program/buffer_loader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Eight-byte words align the copy.
  std::vector<uint64_t> words(size / 8 + 1);
  if (size > 0) std::memcpy(words.data(), data, size);
  rushlight::BufferDataLoader loader(words.data(), size);
  const auto file = rushlight::DataFile::load(&loader);
  if (!file.ok()) return 0;
  for (uint32_t i = 0; i < file->size(); ++i) {
    const auto layout = file->tensor_layout(file->key(i));
    const auto bytes = file->data(file->key(i));
    if (!layout.ok() || !bytes.ok()) continue;
    std::vector<uint8_t> copy(layout->nbytes);
    (void)file->load_into(file->key(i), copy.data(), copy.size());
  }
  return 0;
}
