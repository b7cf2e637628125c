#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "executorch/runtime/core/data_loader.h"
#include "executorch/runtime/core/named_data_map.h"
#include "rushlight/program/data_file.h"

namespace executorch {
namespace extension {

// A .ptd file: tensors and data by name, stored outside of the program.
class FlatTensorDataMap final : public runtime::NamedDataMap {
 public:
  // Loads a file. `loader` must outlive the map and all objects that are loaded from it. Returns InvalidExternalData if
  // the file is damaged.
  static runtime::Result<FlatTensorDataMap> load(runtime::DataLoader* loader);
  FlatTensorDataMap(FlatTensorDataMap&& other) noexcept = default;

  ET_NODISCARD runtime::Result<const runtime::TensorLayout> get_tensor_layout(std::string_view key) const override;
  ET_NODISCARD runtime::Result<runtime::FreeableBuffer> get_data(std::string_view key) const override;
  ET_NODISCARD runtime::Error load_data_into(std::string_view key, void* buffer, size_t size) const override;
  ET_NODISCARD runtime::Result<uint32_t> get_num_keys() const override;
  ET_NODISCARD runtime::Result<const char*> get_key(uint32_t index) const override;

 private:
  explicit FlatTensorDataMap(::rushlight::DataFile file) : file_(std::move(file)) {}
  ::rushlight::DataFile file_;
};

}  // namespace extension
}  // namespace executorch
