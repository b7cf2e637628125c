#pragma once

#include "rushlight/core/evalue.h"

namespace rushlight {

// Calls body(tensor) for each tensor of a value (a tensor or a list of tensors), until `body` returns false.
template <typename Body>
void all_tensors(const EValue& value, const Body& body) {
  if (value.tag == Tag::Tensor) {
    body(value.to_tensor());
  } else if (value.tag == Tag::ListTensor) {
    for (const Tensor& item : value.to_tensor_list()) {
      if (!body(item)) return;
    }
  } else if (value.tag == Tag::ListOptionalTensor) {
    for (const std::optional<Tensor>& item : value.to_optional_tensor_list()) {
      if (item && !body(*item)) return;
    }
  }
}

}  // namespace rushlight
