#include <cstdint>
#include <cstdlib>
#include <utility>

#include "executorch/extension/data_loader/file_data_loader.h"
#include "executorch/extension/data_loader/mmap_data_loader.h"
#include "executorch/extension/flat_tensor/flat_tensor_data_map.h"
#include "executorch/extension/memory_allocator/memory_allocator_utils.h"
#include "executorch/extension/named_data_map/merged_data_map.h"

namespace executorch {
namespace extension {

using runtime::Error;
using runtime::FreeableBuffer;
using runtime::Result;

namespace {

::rushlight::SegmentKind kind_of(const runtime::DataLoader::SegmentInfo& info) {
  return static_cast<::rushlight::SegmentKind>(info.segment_type);
}

}  // namespace

Result<FileDataLoader> FileDataLoader::from(const char* file_name, size_t alignment) {
  ET_CHECK_OR_RETURN_ERROR(alignment != 0 && (alignment & (alignment - 1)) == 0, InvalidArgument,
                           "the alignment %zu is not a power of 2", alignment);
  auto native = ::rushlight::FileDataLoader::open(file_name);
  if (!native.ok()) return runtime::internal::log_error(native.error());
  return FileDataLoader(std::move(*native), alignment);
}

Result<FreeableBuffer> FileDataLoader::load(size_t offset, size_t size, const SegmentInfo& segment_info) const {
  RL_TRY(check_range(offset, size));
  constexpr size_t kNativeAlignment = 64;
  if (alignment_ <= kNativeAlignment) return native_->load(offset, size, kind_of(segment_info));
  RL_ASSIGN(const size_t total, utils::get_aligned_size(size, alignment_));
  void* memory = std::malloc(total);
  if (!memory) return Error::MemoryAllocationFailed;
  void* first = static_cast<uint8_t*>(memory) + (-reinterpret_cast<uintptr_t>(memory) & (alignment_ - 1));
  FreeableBuffer buffer(first, size, [](void* context, void*, size_t) { std::free(context); }, memory);
  RL_TRY(native_->load_into(offset, size, kind_of(segment_info), first));
  return buffer;
}

Error FileDataLoader::load_into(size_t offset, size_t size, const SegmentInfo& segment_info, void* buffer) const {
  RL_TRY(check_range(offset, size));
  return native_->load_into(offset, size, kind_of(segment_info), buffer);
}

Result<MmapDataLoader> MmapDataLoader::from(const char* file_name, MlockConfig mlock_config) {
  auto native = ::rushlight::MmapDataLoader::open(file_name, mlock_config);
  if (!native.ok()) return runtime::internal::log_error(native.error());
  return MmapDataLoader(std::move(*native));
}

Result<FreeableBuffer> MmapDataLoader::load(size_t offset, size_t size, const SegmentInfo& segment_info) const {
  RL_TRY(check_range(offset, size));
  return native_->load(offset, size, kind_of(segment_info));
}

Error MmapDataLoader::load_into(size_t offset, size_t size, const SegmentInfo& segment_info, void* buffer) const {
  RL_TRY(check_range(offset, size));
  return native_->load_into(offset, size, kind_of(segment_info), buffer);
}

Result<FlatTensorDataMap> FlatTensorDataMap::load(runtime::DataLoader* loader) {
  auto file = ::rushlight::DataFile::load(loader->native());
  if (!file.ok()) return runtime::internal::log_error(file.error());
  return FlatTensorDataMap(std::move(*file));
}

Result<const runtime::TensorLayout> FlatTensorDataMap::get_tensor_layout(std::string_view key) const {
  auto layout = file_.tensor_layout(key);
  if (!layout.ok()) return layout.error();
  return runtime::TensorLayout(*layout);
}

Result<FreeableBuffer> FlatTensorDataMap::get_data(std::string_view key) const { return file_.data(key); }

Error FlatTensorDataMap::load_data_into(std::string_view key, void* buffer, size_t size) const {
  return file_.load_into(key, buffer, size);
}

Result<uint32_t> FlatTensorDataMap::get_num_keys() const { return file_.size(); }

Result<const char*> FlatTensorDataMap::get_key(uint32_t index) const {
  if (index >= file_.size()) return Error::InvalidArgument;
  return file_.key(index);
}

Result<MergedDataMap> MergedDataMap::load(runtime::Span<const runtime::NamedDataMap*> named_data_maps) {
  ET_CHECK_OR_RETURN_ERROR(!named_data_maps.empty(), InvalidArgument, "the list of maps to merge is empty");
  MergedDataMap merged({});
  for (const runtime::NamedDataMap* map : named_data_maps) {
    RL_ASSIGN(const uint32_t count, map->get_num_keys());
    for (uint32_t i = 0; i < count; ++i) {
      RL_ASSIGN(const char* key, map->get_key(i));
      ET_CHECK_OR_RETURN_ERROR(!merged.find(key), InvalidArgument, "two maps have an entry named '%s'", key);
    }
    merged.maps_.push_back(map);
  }
  return merged;
}

const runtime::NamedDataMap* MergedDataMap::find(std::string_view key) const {
  for (const runtime::NamedDataMap* map : maps_) {
    auto count = map->get_num_keys();
    for (uint32_t i = 0; count.ok() && i < *count; ++i) {
      auto other = map->get_key(i);
      if (other.ok() && key == *other) return map;
    }
  }
  return nullptr;
}

Result<const runtime::TensorLayout> MergedDataMap::get_tensor_layout(std::string_view key) const {
  const runtime::NamedDataMap* map = find(key);
  if (!map) return Error::NotFound;
  return map->get_tensor_layout(key);
}

Result<FreeableBuffer> MergedDataMap::get_data(std::string_view key) const {
  const runtime::NamedDataMap* map = find(key);
  if (!map) return Error::NotFound;
  return map->get_data(key);
}

Error MergedDataMap::load_data_into(std::string_view key, void* buffer, size_t size) const {
  const runtime::NamedDataMap* map = find(key);
  return map ? map->load_data_into(key, buffer, size) : Error::NotFound;
}

Result<uint32_t> MergedDataMap::get_num_keys() const {
  uint32_t total = 0;
  for (const runtime::NamedDataMap* map : maps_) {
    RL_ASSIGN(const uint32_t count, map->get_num_keys());
    total += count;
  }
  return total;
}

Result<const char*> MergedDataMap::get_key(uint32_t index) const {
  for (const runtime::NamedDataMap* map : maps_) {
    RL_ASSIGN(const uint32_t count, map->get_num_keys());
    if (index < count) return map->get_key(index);
    index -= count;
  }
  return Error::InvalidArgument;
}

}  // namespace extension
}  // namespace executorch
