#pragma once

#include <map>
#include <string>

#include "executorch/extension/tensor/tensor.h"
#include "executorch/runtime/core/named_data_map.h"

namespace executorch {
namespace extension {
namespace training {

// Reads every entry of `data` as a tensor, such as the weights of a .ptd file. The tensors own their elements. Returns
// the error of the first entry that is not a tensor or cannot be read.
ET_NODISCARD runtime::Result<std::map<std::string, TensorPtr>> load_state_dict(const runtime::NamedDataMap& data);

}  // namespace training
}  // namespace extension
}  // namespace executorch
