#pragma once

#include <cstddef>

#include "executorch/runtime/core/exec_aten/exec_aten.h"
#include "executorch/runtime/core/result.h"

namespace executorch {
namespace etdump {

// Stores the elements of recorded tensors. An application may derive a class of its own.
class DataSinkBase {
 public:
  virtual ~DataSinkBase() = default;
  // Stores bytes. Returns the offset of the first one, which the ETDump contains.
  virtual runtime::Result<size_t> write(const void* ptr, size_t length) = 0;
  virtual size_t get_used_bytes() const = 0;
};

}  // namespace etdump
}  // namespace executorch
