#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "executorch/runtime/core/named_data_map.h"

namespace executorch {
namespace extension {

// Several maps as one map. The maps must outlive it.
class MergedDataMap final : public runtime::NamedDataMap {
 public:
  // Returns InvalidArgument if `named_data_maps` is empty, or if two maps have the same key.
  static runtime::Result<MergedDataMap> load(runtime::Span<const runtime::NamedDataMap*> named_data_maps);
  MergedDataMap(MergedDataMap&& other) noexcept = default;

  ET_NODISCARD runtime::Result<const runtime::TensorLayout> get_tensor_layout(std::string_view key) const override;
  ET_NODISCARD runtime::Result<runtime::FreeableBuffer> get_data(std::string_view key) const override;
  ET_NODISCARD runtime::Error load_data_into(std::string_view key, void* buffer, size_t size) const override;
  ET_NODISCARD runtime::Result<uint32_t> get_num_keys() const override;
  ET_NODISCARD runtime::Result<const char*> get_key(uint32_t index) const override;

 private:
  explicit MergedDataMap(std::vector<const runtime::NamedDataMap*> maps) : maps_(std::move(maps)) {}
  // Returns the map that contains the key, or null.
  const runtime::NamedDataMap* find(std::string_view key) const;
  std::vector<const runtime::NamedDataMap*> maps_;
};

}  // namespace extension
}  // namespace executorch
