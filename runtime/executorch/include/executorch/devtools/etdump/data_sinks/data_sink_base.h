#pragma once

#include "executorch/runtime/core/result.h"

namespace executorch {
namespace etdump {

// Stores the elements of recorded tensors.
class DataSinkBase {
 public:
  virtual ~DataSinkBase() = default;
  // Returns the offset of the first byte, which the ETDump contains.
  virtual runtime::Result<size_t> write(const void* ptr, size_t length) = 0;
  virtual size_t get_used_bytes() const = 0;
};

}  // namespace etdump
}  // namespace executorch
