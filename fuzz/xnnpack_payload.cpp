// Prepares arbitrary bytes as a payload of XnnpackBackend. Any named data is 64 KiB of ones.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "rushlight/backends/xnnpack.h"
#include "rushlight/core/memory.h"
#include "rushlight/module/defaults.h"

namespace {

using namespace rushlight;

constexpr size_t kNamedBytes = 1 << 16, kMethodBytes = 1 << 25;

class Ones final : public NamedDataMap {
 public:
  Ones() : words_(kNamedBytes / 8, 0x0101010101010101u) {}
  virtual ~Ones() = default;

  Result<TensorLayout> tensor_layout(std::string_view) const override { return Error::NotFound; }
  Result<FreeableBuffer> data(std::string_view) const override { return FreeableBuffer(words_.data(), kNamedBytes); }
  Error load_into(std::string_view, void*, size_t) const override { return Error::NotFound; }
  uint32_t size() const override { return 0; }
  const char* key(uint32_t) const override { return ""; }

 private:
  std::vector<uint64_t> words_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Ones named;
  static const std::unique_ptr<uint64_t[]> memory(new uint64_t[kMethodBytes / 8]);
  // Eight-byte words align the copy.
  std::vector<uint64_t> words(size / 8 + 1);
  if (size > 0) std::memcpy(words.data(), data, size);
  BufferAllocator allocator(memory.get(), kMethodBytes);
  BackendInitContext context{&allocator, nullptr, nullptr, "forward", &named, {}};
  FreeableBuffer payload(words.data(), size);
  BackendInterface* const backend = xnnpack_backend(default_kernels()).backend;
  auto handle = backend->init(context, &payload, {});
  if (handle.ok()) backend->destroy(*handle);
  return 0;
}
