#pragma once

#include <cstdint>
#include <string_view>

#include "executorch/runtime/core/exec_aten/exec_aten.h"
#include "executorch/runtime/core/freeable_buffer.h"
#include "executorch/runtime/core/result.h"
#include "executorch/runtime/core/tensor_layout.h"
#include "rushlight/core/named_data.h"

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

// Data and tensors by name. An application may implement this class. Functions return NotFound for an unknown key.
class NamedDataMap {
 public:
  NamedDataMap() : bridge_(*this) {}
  NamedDataMap(const NamedDataMap&) : bridge_(*this) {}
  NamedDataMap(NamedDataMap&&) noexcept : bridge_(*this) {}
  NamedDataMap& operator=(const NamedDataMap&) { return *this; }
  virtual ~NamedDataMap() = default;

  ET_NODISCARD virtual Result<const TensorLayout> get_tensor_layout(std::string_view key) const = 0;
  // Returns the bytes of an entry.
  ET_NODISCARD virtual Result<FreeableBuffer> get_data(std::string_view key) const = 0;
  // Copies the `size` bytes of an entry into `buffer`.
  ET_NODISCARD virtual Error load_data_into(std::string_view key, void* buffer, size_t size) const = 0;
  ET_NODISCARD virtual Result<uint32_t> get_num_keys() const = 0;
  ET_NODISCARD virtual Result<const char*> get_key(uint32_t index) const = 0;

  // Returns the map as the runtime's type. It is valid as long as this object.
  const ::rushlight::NamedDataMap* native() const { return &bridge_; }

 private:
  // Forwards the runtime's calls to the enclosing map.
  class Bridge final : public ::rushlight::NamedDataMap {
   public:
    explicit Bridge(const executorch::runtime::NamedDataMap& owner) : owner_(owner) {}
    Result<::rushlight::TensorLayout> tensor_layout(std::string_view key) const override;
    Result<FreeableBuffer> data(std::string_view key) const override { return owner_.get_data(key); }
    Error load_into(std::string_view key, void* buffer, size_t size) const override {
      return owner_.load_data_into(key, buffer, size);
    }
    uint32_t size() const override;
    const char* key(uint32_t index) const override;

   private:
    const executorch::runtime::NamedDataMap& owner_;
  };
  Bridge bridge_;
};

namespace internal {

// A map of the runtime, which must outlive this object, with the interface of ExecuTorch's class.
class NativeDataMap final : public NamedDataMap {
 public:
  explicit NativeDataMap(const ::rushlight::NamedDataMap* map) : map_(map) {}
  Result<const TensorLayout> get_tensor_layout(std::string_view key) const override;
  Result<FreeableBuffer> get_data(std::string_view key) const override { return map_->data(key); }
  Error load_data_into(std::string_view key, void* buffer, size_t size) const override {
    return map_->load_into(key, buffer, size);
  }
  Result<uint32_t> get_num_keys() const override { return map_->size(); }
  Result<const char*> get_key(uint32_t index) const override;

 private:
  const ::rushlight::NamedDataMap* map_;
};

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::NamedDataMap;
}  // namespace executor
}  // namespace torch
