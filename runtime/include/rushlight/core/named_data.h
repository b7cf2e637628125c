#pragma once

#include <cstdint>
#include <string_view>

#include "rushlight/core/data_loader.h"
#include "rushlight/core/scalar_type.h"
#include "rushlight/core/span.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

struct TensorLayout {
  ScalarType dtype = ScalarType::Float;
  Span<const SizesType> sizes;
  Span<const DimOrderType> dim_order;
  size_t nbytes = 0;
};

// Blobs and tensors by name: the named data of a program, or a .ptd file.
class NamedDataMap {
 public:
  virtual Result<TensorLayout> tensor_layout(std::string_view key) const = 0;
  virtual Result<FreeableBuffer> data(std::string_view key) const = 0;
  virtual Error load_into(std::string_view key, void* buffer, size_t size) const = 0;
  virtual uint32_t size() const = 0;
  // Key `index`, below size(); NUL-terminated.
  virtual const char* key(uint32_t index) const = 0;

 protected:
  ~NamedDataMap() = default;
};

}  // namespace rushlight
