#pragma once

#include "rushlight/core/data_loader.h"

namespace rushlight {

// A loader for a file in memory. It copies nothing: `data` must outlive all objects that are loaded through it, and
// should be aligned to 16 bytes.
class BufferDataLoader final : public DataLoader {
 public:
  BufferDataLoader(const void* data, size_t size) : data_(static_cast<const uint8_t*>(data)), size_(size) {}
  Result<FreeableBuffer> load(size_t offset, size_t size, SegmentKind kind) override;
  Result<size_t> size() const override { return size_; }
  Error load_into(size_t offset, size_t size, SegmentKind kind, void* buffer) override;

 private:
  const uint8_t* data_;
  size_t size_;
};

}  // namespace rushlight
