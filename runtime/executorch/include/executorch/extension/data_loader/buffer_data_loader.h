#pragma once

#include <cstddef>

#include "executorch/runtime/core/data_loader.h"
#include "rushlight/program/buffer_loader.h"

namespace executorch {
namespace extension {

// A loader for a file in memory. The memory must outlive all objects that are loaded through it.
class BufferDataLoader final : public runtime::DataLoader {
 public:
  BufferDataLoader(const void* data, size_t size) : native_(data, size) {}
  ET_NODISCARD runtime::Result<runtime::FreeableBuffer> load(size_t offset, size_t size,
                                                             const SegmentInfo&) const override {
    RL_TRY(check_range(offset, size));
    return native_.load(offset, size, ::rushlight::SegmentKind::Program);
  }
  ET_NODISCARD runtime::Error load_into(size_t offset, size_t size, const SegmentInfo&, void* buffer) const override {
    RL_TRY(check_range(offset, size));
    return native_.load_into(offset, size, ::rushlight::SegmentKind::Program, buffer);
  }
  ET_NODISCARD runtime::Result<size_t> size() const override { return native_.size(); }

 private:
  mutable ::rushlight::BufferDataLoader native_;
};

}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executor {
namespace util {
using ::executorch::extension::BufferDataLoader;
}  // namespace util
}  // namespace executor
}  // namespace torch
