// Code that all fuzz targets for payloads of backends share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "rushlight/core/memory.h"
#include "rushlight/module/defaults.h"

namespace rushlight::fuzz {

// Data with 64 KiB of ones for every key.
class Ones final : public NamedDataMap {
 public:
  Ones() : words_(kBytes / 8, 0x0101010101010101u) {}
  virtual ~Ones() = default;

  Result<TensorLayout> tensor_layout(std::string_view) const override { return Error::NotFound; }
  Result<FreeableBuffer> data(std::string_view) const override { return FreeableBuffer(words_.data(), kBytes); }
  Error load_into(std::string_view, void*, size_t) const override { return Error::NotFound; }
  uint32_t size() const override { return 0; }
  const char* key(uint32_t) const override { return ""; }

 private:
  static constexpr size_t kBytes = 1 << 16;
  std::vector<uint64_t> words_;
};

// Loads `size` bytes, of any alignment, as a payload of a backend.
inline void prepare_payload(const Backend& backend, const uint8_t* data, size_t size) {
  constexpr size_t kMethodBytes = 1 << 25;
  static const Ones named;
  static const std::unique_ptr<uint64_t[]> memory(new uint64_t[kMethodBytes / 8]);
  std::vector<uint64_t> words(size / 8 + 1);  // aligned
  if (size > 0) std::memcpy(words.data(), data, size);
  BufferAllocator allocator(memory.get(), kMethodBytes);
  BackendInitContext context{&allocator, nullptr, nullptr, "forward", &named, {}};
  FreeableBuffer payload(words.data(), size);
  auto handle = backend.backend->init(context, &payload, {});
  if (handle.ok()) backend.backend->destroy(*handle);
}

}  // namespace rushlight::fuzz
