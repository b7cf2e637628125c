#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>

#include "executorch/runtime/core/error.h"
#include "executorch/runtime/core/exec_aten/exec_aten.h"

namespace executorch {
namespace extension {
namespace flat_tensor {

// The format version of the files that save_ptd() writes.
constexpr uint32_t kSchemaVersion = 0;

// Write a .ptd file of dense tensors by name, such as the trained parameters of a TrainingModule. Each tensor begins at
// a multiple of `tensor_alignment` bytes, a power of two. Return InvalidArgument, before anything is written, if a
// tensor has no data, and AccessFailed if the file cannot be written; no incomplete file remains at the path.
ET_NODISCARD runtime::Error save_ptd(const std::string& path, const std::map<std::string, aten::Tensor>& tensor_map,
                                     size_t tensor_alignment);
ET_NODISCARD runtime::Error save_ptd(std::ostream& out, const std::map<std::string, aten::Tensor>& tensor_map,
                                     size_t tensor_alignment);

}  // namespace flat_tensor
}  // namespace extension
}  // namespace executorch
