#pragma once

#include <cstddef>
#include <memory>

#include "executorch/runtime/core/data_loader.h"
#include "rushlight/module/file_loader.h"

namespace executorch {
namespace extension {

// Maps parts of a file into memory.
class MmapDataLoader final : public runtime::DataLoader {
 public:
  using MlockConfig = ::rushlight::MlockConfig;

  // Opens a file. Returns AccessFailed if the file cannot be opened.
  static runtime::Result<MmapDataLoader> from(const char* file_name, MlockConfig mlock_config = MlockConfig::UseMlock);
  ET_DEPRECATED static runtime::Result<MmapDataLoader> From(const char* file_name,
                                                            MlockConfig mlock_config = MlockConfig::UseMlock) {
    return from(file_name, mlock_config);
  }
  ET_DEPRECATED static runtime::Result<MmapDataLoader> From(const char* file_name, bool use_mlock) {
    return from(file_name, use_mlock ? MlockConfig::UseMlock : MlockConfig::NoMlock);
  }
  MmapDataLoader(MmapDataLoader&& other) noexcept = default;

  ET_NODISCARD runtime::Result<runtime::FreeableBuffer> load(size_t offset, size_t size,
                                                             const SegmentInfo& segment_info) const override;
  ET_NODISCARD runtime::Error load_into(size_t offset, size_t size, const SegmentInfo& segment_info,
                                        void* buffer) const override;
  ET_NODISCARD runtime::Result<size_t> size() const override { return native_->size(); }

 private:
  explicit MmapDataLoader(std::unique_ptr<::rushlight::MmapDataLoader> native) : native_(std::move(native)) {}
  std::unique_ptr<::rushlight::MmapDataLoader> native_;
};

}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executor {
namespace util {
using ::executorch::extension::MmapDataLoader;
}  // namespace util
}  // namespace executor
}  // namespace torch
