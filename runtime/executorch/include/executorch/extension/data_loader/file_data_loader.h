#pragma once

#include <cstddef>
#include <memory>

#include "executorch/runtime/core/data_loader.h"
#include "rushlight/module/file_loader.h"

namespace executorch {
namespace extension {

// Reads parts of a file into allocated memory.
class FileDataLoader final : public runtime::DataLoader {
 public:
  // Opens a file. Loaded memory is aligned to 64 bytes, or to `alignment` if it is larger. Returns AccessFailed if the
  // file cannot be opened.
  static runtime::Result<FileDataLoader> from(const char* file_name, size_t alignment = alignof(std::max_align_t));
  ET_DEPRECATED static runtime::Result<FileDataLoader> From(const char* file_name,
                                                            size_t alignment = alignof(std::max_align_t)) {
    return from(file_name, alignment);
  }
  FileDataLoader(FileDataLoader&& other) noexcept = default;

  ET_NODISCARD runtime::Result<runtime::FreeableBuffer> load(size_t offset, size_t size,
                                                             const SegmentInfo& segment_info) const override;
  ET_NODISCARD runtime::Error load_into(size_t offset, size_t size, const SegmentInfo& segment_info,
                                        void* buffer) const override;
  ET_NODISCARD runtime::Result<size_t> size() const override { return native_->size(); }

 private:
  FileDataLoader(std::unique_ptr<::rushlight::FileDataLoader> native, size_t alignment)
      : native_(std::move(native)), alignment_(alignment) {}
  std::unique_ptr<::rushlight::FileDataLoader> native_;
  size_t alignment_;
};

}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executor {
namespace util {
using ::executorch::extension::FileDataLoader;
}  // namespace util
}  // namespace executor
}  // namespace torch
