#pragma once

#include "rushlight/core/data_loader.h"
#include "rushlight/core/named_data.h"
#include "rushlight/core/result.h"

namespace rushlight {

// A .ptd file: tensors and data by name, stored outside of the program. It never changes, and any number of threads may
// use it.
class DataFile final : public NamedDataMap {
 public:
  // Loads a file. `loader` must outlive this object and everything that is loaded from it. Returns InvalidExternalData
  // if the file is damaged or not a .ptd file; the message contains the reason and the position.
  static Result<DataFile> load(DataLoader* loader);

  DataFile(DataFile&&) noexcept = default;
  DataFile& operator=(DataFile&&) noexcept = default;

  // Returns whether there is an entry with this key.
  bool has(std::string_view key) const;
  Result<TensorLayout> tensor_layout(std::string_view key) const override;
  Result<FreeableBuffer> data(std::string_view key) const override;
  Error load_into(std::string_view key, void* buffer, size_t size) const override;
  uint32_t size() const override;
  const char* key(uint32_t index) const override;

 private:
  DataFile() = default;
  DataLoader* loader_ = nullptr;
  FreeableBuffer tables_;
  const uint8_t* root_ = nullptr;
  uint64_t segment_base_ = 0;
};

}  // namespace rushlight
