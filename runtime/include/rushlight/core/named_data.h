#pragma once

#include <cstdint>
#include <string_view>

#include "rushlight/core/data_loader.h"
#include "rushlight/core/scalar_type.h"
#include "rushlight/core/span.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// The dtype and shape of a stored tensor. The spans are views into the file.
struct TensorLayout {
  ScalarType dtype = ScalarType::Float;
  Span<const SizesType> sizes;
  Span<const DimOrderType> dim_order;  // outermost dimension first
  size_t nbytes = 0;
};

// Data and tensors by name: the named data of a program, or a .ptd file. Functions return NotFound if there is no entry
// with the key. Any number of threads may use a map.
class NamedDataMap {
 public:
  // Returns the layout of a tensor.
  virtual Result<TensorLayout> tensor_layout(std::string_view key) const = 0;
  // Returns the bytes of an entry; the result owns them.
  virtual Result<FreeableBuffer> data(std::string_view key) const = 0;
  // Copies the `size` bytes of an entry into `buffer`.
  virtual Error load_into(std::string_view key, void* buffer, size_t size) const = 0;
  // Returns the number of entries.
  virtual uint32_t size() const = 0;
  // Returns the key of entry `index`, which must be below size(). The text ends with NUL.
  virtual const char* key(uint32_t index) const = 0;

 protected:
  ~NamedDataMap() = default;
};

}  // namespace rushlight
